package governance

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Verdict is the meaning of a choice for the outcome.
type Verdict int

// The verdicts.
const (
	NoVerdict Verdict = iota
	Approves
	Rejects
	Abstains
)

// String returns the verdict as the key of the choice of a Governor; empty for none.
func (v Verdict) String() string {
	return []string{"", GovernorFor, GovernorAgainst, GovernorAbstain}[v]
}

// verdictLabels returns the labels with a verdict, as isLabel reads them.
func verdictLabels() map[Verdict]string {
	return map[Verdict]string{
		Approves: "for|yes|yae|yay|yea|yeah|yep|aye|sure|approve|approved|accept|accepted|in favor|in favour|favor|in support|support|" +
			"i support|agree|i agree|pass|vote yes|vote for|extend|sí|si|a favor|oui|pour|d'accord|ja|dafür|sì|a favore|favorevole|" +
			"sim|da|да|за|согласен|так|tak|za|evet|ya|setuju|voor|đồng ý|赞成|贊成|赞同|支持|同意|批准|是|是的|会|會|肯定会|可以|賛成|はい|찬성|예|네|동의",
		Rejects: "against|agaiinst|againt|no|nay|nae|noe|nah|nope|reject|rejected|oppose|opposed|disagree|disapprove|dissapprove|decline|deny|" +
			"refuse|not in favor|not in favour|vote no|vote against|no change|no changes|make no change|make no changes|do nothing|" +
			"no action|take no action|status quo|keep status quo|keep it as is|no need|" +
			"en contra|non|contre|nein|dagegen|contro|contrario|não|nao|contra|нет|против|ні|проти|nie|przeciw|hayır|hayir|tidak|tegen|không đồng ý|" +
			"反对|反對|不赞成|不支持|不同意|不批准|拒绝|否决|否|不|不是|不会|不會|不可以|反対|いいえ|반대|아니오|아니요",
		Abstains: "abstain|abstention|abstained|abstaining|i abstain|vote abstain|abstención|abstencion|me abstengo|abstenção|abstencao|" +
			"abstenir|je m'abstiens|enthaltung|enthalten|astensione|astenuto|mi astengo|воздержаться|воздержался|воздерживаюсь|утримався|" +
			"wstrzymuję się|çekimser|弃权|棄權|棄権|기권|中立|neutral|neutro|neutre|no opinion|no preference|undecided|" +
			"i don't know|don't know|dont know|do not know|don't care|dont care|do not care|decline to vote|decline to answer",
	}
}

// Words, and pairs of words, that give a label its verdict whatever follows, unless it denies it: "Approve no budget".
const (
	approvingWords = "approve|accept"
	rejectingWords = "reject|disapprove|refuse|decline|oppose"
	approvingPairs = "yes to|yes for|yes i|yes we|for this|in support"
	rejectingPairs = "no to|no i|no we|no thanks|against this|against the"
)

// Words that deny. What begins with one of denials rejects, unless it denies a rejection: "Do not veto".
const (
	denials    = "do not|don't|dont|do no"
	deniers    = "no|not|none|neither|nothing"
	rejections = "veto|reject|disapprove|refuse|decline|oppose|deny|block|cancel|stop"
)

// Labels of choices beside the question: the vote is about more than one thing.
const undecidedWords = "discuss|discussion|discussions|revision|unsure|later|maybe|postpone|delay|neither|none|other|invalid|veto"

// VerdictOf returns the verdict of a choice by its label alone.
func VerdictOf(label string) Verdict {
	text := plainLabel(label)
	for verdict, labels := range verdictLabels() {
		if isLabel(text, labels) {
			return verdict
		}
	}
	words := strings.Fields(strings.Map(lettersOnly, text))
	if len(words) < 2 {
		return NoVerdict
	}
	pair := words[0] + " " + words[1]
	switch {
	case isWord(pair, approvingPairs), isWord(words[0], approvingWords) && !isWord(words[1], deniers):
		return Approves
	case isWord(pair, rejectingPairs), isWord(words[0], rejectingWords) && !isWord(words[1], deniers):
		return Rejects
	case isStatusQuo(words), isDenial(words):
		return Rejects
	}
	return NoVerdict
}

// plainLabel returns a label in lower case, without ornaments, its number in a list and a last part in parentheses.
func plainLabel(label string) string {
	label = strings.ToLower(norm.NFKC.String(strings.Map(plainApostrophe, label)))
	if at := strings.LastIndex(label, "("); at > 0 && strings.HasSuffix(strings.TrimSpace(label), ")") {
		label = label[:at]
	}
	label = strings.Join(strings.Fields(strings.TrimFunc(label, isOrnament)), " ")
	if number, rest, found := strings.Cut(label, " "); found && isListNumber(number) {
		return strings.TrimLeftFunc(rest, isOrnament)
	}
	return label
}

// isListNumber reports whether a word numbers a choice: "1.", "12)", "a:".
func isListNumber(word string) bool {
	number := strings.TrimRight(word, ".):]")
	isNumber := len(number) == 1 || strings.Trim(number, "0123456789") == ""
	return number != "" && len(number) == len(word)-1 && isNumber
}

func plainApostrophe(r rune) rune {
	if strings.ContainsRune("’`´", r) {
		return '\''
	}
	return r
}

func isOrnament(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func lettersOnly(r rune) rune {
	if r == '\'' || !isOrnament(r) {
		return r
	}
	return ' '
}

// isLabel reports whether a text is one of some labels, or begins with one that punctuation
// ends. The dash of "for-profit" and "non-profit" is none.
func isLabel(text, labels string) bool {
	return slices.ContainsFunc(strings.Split(labels, "|"), func(label string) bool {
		rest, found := strings.CutPrefix(text, label)
		if !found || rest == "" {
			return found
		}
		if number := strings.TrimLeft(rest, ". "); label == "no" && number != "" && unicode.IsDigit(rune(number[0])) {
			return false // "No. 1" is a number
		}
		dash := strings.HasPrefix(strings.TrimLeft(rest, " "), "-") && (rest[0] == ' ' || !isWord(label, "for|non"))
		return dash || strings.ContainsAny(rest[:1], ",.:;!(/") || startsWithAny(strings.TrimLeft(rest, " "), "– — ( / : ， 。 、 ： （")
	})
}

func startsWithAny(text, prefixes string) bool {
	return slices.ContainsFunc(strings.Fields(prefixes), func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

func isWord(word, words string) bool { return slices.Contains(strings.Split(words, "|"), word) }

// isDenial reports whether words deny something that is no rejection: "Don't extend".
func isDenial(words []string) bool {
	for denial := range strings.SplitSeq(denials, "|") {
		denied, found := strings.CutPrefix(strings.Join(words, " "), denial+" ")
		if found {
			return !isWord(strings.Fields(denied)[0], rejections+"|neither|none|know|care|mind")
		}
	}
	return false
}

// isStatusQuo reports whether words say that things stay: "Keep governance process as is".
func isStatusQuo(words []string) bool {
	text := strings.Join(words, " ")
	ends := []string{" as is", " as it is", " as they are", " status quo"}
	return isWord(words[0], "keep|leave") && slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(text, end) })
}

// Verdicts returns the verdicts of the choices of a vote. A basic vote goes by position, as on
// Snapshot, whatever the labels say. Where one choice says that nothing is done, and one other
// says what ("Extend", "Don't extend"), the other approves.
func Verdicts(v VoteType, choices []Choice) []Verdict {
	verdicts := make([]Verdict, len(choices))
	count := map[Verdict]int{}
	doing, nothing := -1, false
	for i, choice := range choices {
		verdicts[i] = VerdictOf(choice.Label)
		if v == Basic {
			verdicts[i] = []Verdict{Approves, Rejects, Abstains}[min(i, 2)]
		}
		count[verdicts[i]]++
		words := strings.Fields(strings.Map(lettersOnly, plainLabel(choice.Label)))
		switch {
		case verdicts[i] == NoVerdict && isProposal(words):
			doing = i
		case verdicts[i] == Rejects && len(words) > 1:
			nothing = nothing || isDenial(words) || isStatusQuo(words) || isLabel(strings.Join(words, " "), quiet)
		}
	}
	if nothing && doing >= 0 && count[NoVerdict] == 1 && count[Approves] == 0 && count[Rejects] == 1 {
		verdicts[doing] = Approves
	}
	for i, choice := range choices { // who passes where another choice approves does not vote
		if v != Basic && count[Approves] > 1 && plainLabel(choice.Label) == "pass" {
			verdicts[i] = Abstains
		}
	}
	return verdicts
}

// quiet are labels that say that nothing is done.
const quiet = "do nothing|no change|no changes|make no change|make no changes|no action|take no action|status quo|keep status quo|keep it as is"

// isProposal reports whether words say what to do: they neither deny nor ask for something else.
func isProposal(words []string) bool {
	return len(words) > 0 && !isWord(words[0], deniers+"|do|don't|dont|never") &&
		!slices.ContainsFunc(words, func(word string) bool { return isWord(word, undecidedWords) })
}
