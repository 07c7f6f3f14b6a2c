input.hlo --scheduler=default --algorithm=none --unfuse=all -o - --quiet --json=summary.json
