-- Whether a ballot names what can be no choice, or a choice twice: it supports none. Ballots that
-- name nothing are not malformed.
empty(choices) AND multiIf(
    startsWith(raw_choice, '"'), false,
    startsWith(raw_choice, '['), raw_choice != '[]',
    startsWith(raw_choice, '{'), arrayExists(
        key -> toUInt32OrZero(key) NOT BETWEEN 1 AND 65535 OR toString(toUInt32OrZero(key)) != key,
        JSONExtractKeys(raw_choice)
    ),
    raw_choice != ''
)
