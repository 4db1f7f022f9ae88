SELECT count() AS running FROM system.processes WHERE startsWith(initial_query_id, ?)
