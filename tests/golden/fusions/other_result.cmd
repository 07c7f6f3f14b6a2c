other_result.hlo --scheduler=bfs --algorithm=checkpoint=speed --memory-model=liveness --mem-limit=min --limit-counts=total --small-node-limit=0 -q --dry-run --copies=pending
