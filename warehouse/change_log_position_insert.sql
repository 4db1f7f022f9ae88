INSERT INTO change_positions
(
    name,
    epoch,
    restored,
    format,
    committed_through,
    visible_through,
    revision,
    lagging_daos
)
