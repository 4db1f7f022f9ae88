-- Which tokens' powers changed since a version is found without reading the whole table.
-- shard by: cityHash64(scope)
ALTER TABLE delegate_power ADD INDEX IF NOT EXISTS of_version version TYPE minmax GRANULARITY 1;
