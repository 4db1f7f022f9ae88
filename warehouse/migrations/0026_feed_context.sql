-- A hash of what else the rows of an item follow from than the item itself: the turnouts of the
-- votes before a vote, or the prefix of a topic's id; zero for nothing.
-- shard by: cityHash64(item)
ALTER TABLE feed_progress ADD COLUMN IF NOT EXISTS context UInt64;
