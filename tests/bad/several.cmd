check tab.hlo missing.hlo utf8.hlo
