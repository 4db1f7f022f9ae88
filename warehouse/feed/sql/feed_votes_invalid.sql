-- Whether a ballot supports none of the choices that it names, as in the vote summary.
notEmpty(wanted.choice_keys) AND notEmpty(ballot.choices) AND (
    NOT hasAll(wanted.choice_keys, arrayMap(choice -> toString(choice), ballot.choices))
    OR length(ballot.choices) < wanted.least_choices
    OR wanted.most_choices > 0 AND length(ballot.choices) > wanted.most_choices
    OR wanted.form != '' AND wanted.form != multiIf(startsWith(ballot.raw_choice, '['), 'list', startsWith(ballot.raw_choice, '{'), 'weights', 'number')
)
