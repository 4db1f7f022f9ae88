package governance

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

func (p *postReader) open(tag html.Token) {
	switch {
	case p.leavesOut(tag):
		p.skip(tag)
		return
	case tag.Data == "img":
		p.picture(tag)
		return
	case tag.Data == "a":
		p.link(attribute(tag, "href"))
	}
	p.breakLine(tag.Data)
	switch tag.Data {
	case "pre":
		p.verbatim++
	case "blockquote":
		p.quoted++
	case "ul":
		p.lists = append(p.lists, -1)
	case "ol":
		first, err := strconv.Atoi(attribute(tag, "start"))
		if err != nil {
			first = 1
		}
		p.lists = append(p.lists, max(first-1, 0))
	case "li":
		p.item()
	case "tr":
		p.cells = 0
	case "td", "th":
		if p.cells++; p.cells > 1 {
			p.write(" | ")
		}
	}
}

// end follows the end of an element, which may never have begun.
func (p *postReader) end(name string) {
	switch name {
	case "pre":
		p.verbatim = max(p.verbatim-1, 0)
	case "blockquote":
		p.quoted = max(p.quoted-1, 0)
	case "ul", "ol":
		p.lists = p.lists[:max(len(p.lists)-1, 0)]
	}
	p.breakLine(name)
}

func (p *postReader) leavesOut(tag html.Token) bool {
	switch tag.Data {
	case "script", "style", "noscript", "template", "iframe", "noembed", "noframes", "xmp", "plaintext",
		"object", "video", "audio", "head":
		return true
	case "svg":
		return tag.Type == html.StartTagToken
	case "h1", "h2", "h3", "h4", "h5", "h6", "pre", "table":
		return p.brief
	case "aside":
		return hasClass(tag, "onebox") || p.brief && hasClass(tag, "quote")
	case "div":
		// The caption of a picture holds the name and size of its file.
		return hasClass(tag, "meta")
	}
	return false
}

// skip skips an element with its content. The address of another page stands for its preview.
func (p *postReader) skip(tag html.Token) {
	if address := attribute(tag, "data-onebox-src"); address != "" && !p.brief {
		p.link(address)
		p.breakLine("p")
		p.write(address)
	}
	p.breakLine(tag.Data)
	for depth := 1; depth > 0; {
		switch p.tokens.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken:
			inner := p.tokens.Token()
			if inner.Data == tag.Data {
				depth++
			}
			if inner.Data == "a" {
				p.link(attribute(inner, "href"))
			}
		case html.EndTagToken:
			if name, _ := p.tokens.TagName(); string(name) == tag.Data {
				depth--
			}
		case html.TextToken, html.SelfClosingTagToken, html.CommentToken, html.DoctypeToken:
		}
	}
}

// picture writes what a picture shows. Emoji are pictures too.
func (p *postReader) picture(tag html.Token) {
	shows := strings.TrimSpace(attribute(tag, "alt"))
	switch {
	case p.brief, hasClass(tag, "avatar"), hasClass(tag, "site-icon"):
	case hasClass(tag, "emoji"):
		p.write(shows)
	case shows == "":
		p.write("[image]")
	default:
		p.write("[" + shows + "]")
	}
}

func (p *postReader) link(address string) {
	if name := LinkedProposal(address); name != "" {
		p.links = append(p.links, name)
	}
}

func (p *postReader) item() {
	if p.brief || len(p.lists) == 0 {
		return
	}
	p.marker = strings.Repeat("  ", min(len(p.lists)-1, maxIndent))
	last := &p.lists[len(p.lists)-1]
	if *last < 0 {
		p.marker += "- "
		return
	}
	*last++
	p.marker += strconv.Itoa(*last) + ". "
}

// breakLine requests the line ends around an element: a blank line around most, none within lists.
func (p *postReader) breakLine(name string) {
	ends := 0
	switch name {
	case "br":
		ends = min(p.gap+1, 2)
	case "li", "div", "tr", "summary", "dt", "dd":
		ends = 1
	case "p", "ul", "ol", "dl", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "blockquote", "table", "aside", "details", "hr", "section":
		ends = 2
	}
	if len(p.lists) > 0 {
		ends = min(ends, 1)
	}
	p.gap = max(p.gap, ends)
}

func attribute(tag html.Token, name string) string {
	for _, a := range tag.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func hasClass(tag html.Token, class string) bool {
	return slices.Contains(strings.Fields(attribute(tag, "class")), class)
}
