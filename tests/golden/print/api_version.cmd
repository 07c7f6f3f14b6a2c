print api_version.hlo
