rest.hlo --copies=pending --small-node-limit=0 --algorithm=scan --mem-limit=min --quiet --save-plan=-
