input.hlo --scheduler=input --algorithm=path --small-node-limit=0 --mem-limit=min -o - --quiet --json=summary.json --copies=inserted
