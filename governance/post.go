package governance

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

const (
	// maxPostBytes bounds the text of a post, several times what forums allow.
	maxPostBytes = 1 << 20
	// maxSummaryRunes bounds a summary. From minSummaryRunes on, whole sentences are preferred to a cut one.
	maxSummaryRunes = 280
	minSummaryRunes = 100
	// maxIndent is the depth of lists and quotes beyond which text is not indented further.
	maxIndent = 6
)

// Post is the first post of a forum topic as plain text.
type Post struct {
	// Text is the whole post: paragraphs, lists, quotes with "> ", pictures by their description.
	Text string
	// Summary is its first sentences, without headings, code, pictures, tables and quotes of others.
	Summary string
	// Links names the proposals that it links, sorted; see LinkedProposal.
	Links []string
}

// ParsePost turns the HTML of a forum into plain text. It keeps no tree, so that no nesting is too deep.
func ParsePost(cooked string) Post {
	cooked = strings.ToValidUTF8(cooked, "\uFFFD")
	whole := newPostReader(cooked, maxPostBytes)
	whole.read()
	// A post may consist of what a summary leaves out.
	brief := newPostReader(cooked, 8*maxSummaryRunes)
	brief.brief = true
	brief.read()
	summary := summarize(brief.String())
	if summary == "" {
		summary = summarize(whole.String())
	}
	slices.Sort(whole.links)
	return Post{Text: whole.String(), Summary: summary, Links: slices.Compact(whole.links)}
}

type postReader struct {
	tokens *html.Tokenizer
	// brief leaves out what a summary does not show.
	brief bool
	most  int
	links []string

	text strings.Builder
	// gap is the number of line ends to write before the next text; space and marker follow them.
	gap    int
	space  bool
	marker string
	// verbatim and quoted count the elements open that keep white space, or quote.
	verbatim, quoted int
	// lists holds the number of the last item of each list open, -1 where items have none.
	lists []int
	cells int
}

func newPostReader(cooked string, most int) *postReader {
	return &postReader{tokens: html.NewTokenizer(strings.NewReader(cooked)), most: most}
}

// activeTag matches elements that run or load something in a browser, which posts about HTML name.
var activeTag = regexp.MustCompile(`(?i)<(/?(?:script|style|iframe|object|embed|svg|math|link|meta|base|form|img|template|noscript))`)

// String returns the collected text. A space after "<" disables active tags, in case the text is shown as HTML.
func (p *postReader) String() string {
	text := p.text.String()
	if len(text) > p.most {
		text = strings.ToValidUTF8(text[:p.most], "")
	}
	return activeTag.ReplaceAllString(strings.TrimSpace(text), "< $1")
}

func (p *postReader) read() {
	for p.text.Len() < p.most {
		switch p.tokens.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			p.write(string(p.tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			p.open(p.tokens.Token())
		case html.EndTagToken:
			name, _ := p.tokens.TagName()
			p.end(string(name))
		case html.CommentToken, html.DoctypeToken:
		}
	}
}
