-- Whether a ballot supports none of the choices that it names, as in the vote summary.
wanted.most_choices > 0 AND notEmpty(ballot.choices) AND (
    NOT hasAll(wanted.choice_keys, arrayMap(choice -> toString(choice), ballot.choices))
    OR length(ballot.choices) NOT BETWEEN wanted.least_choices AND wanted.most_choices
    OR wanted.divides AND empty(ballot.shares) AND length(ballot.choices) > 1
)
