one_element.hlo --small-node-limit=0 --algorithm=scan --limit-counts=temp --mem-limit=min --quiet -o -
