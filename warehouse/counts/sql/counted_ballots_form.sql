-- How a ballot states its choices. It is malformed if it names what can be no choice, or a choice
-- twice, or gives a weight to none: it supports none. An empty list is not malformed.
multiIf(
    raw_choice = '' OR startsWith(raw_choice, '"'), '',
    empty(choices) AND raw_choice != '[]', 'malformed',
    startsWith(raw_choice, '['), 'list',
    startsWith(raw_choice, '{'), 'weights',
    'number'
)
