SELECT (SELECT count() FROM daos) + (SELECT count() FROM proposals) + (SELECT count() FROM topics) AS records
