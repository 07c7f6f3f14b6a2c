check input.hlo --write-baseline=baseline.json --copies=pending
