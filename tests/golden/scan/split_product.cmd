split_product.hlo --copies=inserted --small-node-limit=0 --algorithm=scan --limit-counts=temp --mem-limit=800KiB --quiet -o -
