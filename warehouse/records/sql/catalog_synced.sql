SELECT count() AS synced FROM syncs
