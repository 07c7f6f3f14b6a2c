module_0002.unmarked.before_optimizations.txt --small-node-limit=0 --mem-limit=min --json=summary.json -o -
