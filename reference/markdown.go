package reference

import (
	"html/template"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/util"
)

// converter returns the converter of Markdown to HTML, with options of the parser. HTML in a text is a text.
func converter(options ...parser.Option) goldmark.Markdown {
	isHTML := func(p util.PrioritizedValue) bool {
		return p.Value == parser.NewRawHTMLParser() || p.Value == parser.NewHTMLBlockParser()
	}
	options = append(options,
		parser.WithBlockParsers(slices.DeleteFunc(parser.DefaultBlockParsers(), isHTML)...),
		parser.WithInlineParsers(slices.DeleteFunc(parser.DefaultInlineParsers(), isHTML)...),
		parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	)
	return goldmark.New(
		goldmark.WithParser(parser.NewParser(options...)),
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))), // pages allow no style
	)
}

// markdownHTML returns a text of ours as HTML. Wide tables scroll.
func markdownHTML(text string) template.HTML {
	var page strings.Builder
	if err := converter().Convert([]byte(text), &page); err != nil {
		panic(err) // a Builder takes everything
	}
	tables := strings.NewReplacer("<table>", `<div class="scroll"><table>`, "</table>", "</table></div>")
	return template.HTML(tables.Replace(page.String())) //nolint:gosec // of our Markdown, without HTML
}

// inlineHTML returns one paragraph of ours as HTML, without a paragraph around it.
func inlineHTML(line string) template.HTML {
	text := strings.TrimPrefix(strings.TrimSpace(string(markdownHTML(line))), "<p>")
	return template.HTML(strings.TrimSuffix(text, "</p>")) //nolint:gosec // of markdownHTML
}
