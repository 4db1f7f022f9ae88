SELECT
    epoch,
    restored,
    format,
    committed_through,
    visible_through,
    revision,
    lagging_daos
FROM change_positions FINAL
WHERE name = {name:String}
