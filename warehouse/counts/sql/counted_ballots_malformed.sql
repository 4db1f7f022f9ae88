-- Whether a ballot names what can be no choice, or a choice twice, or gives a weight to none: it
-- supports none. An empty list is not malformed.
empty(choices) AND raw_choice NOT IN ('', '[]') AND NOT startsWith(raw_choice, '"')
