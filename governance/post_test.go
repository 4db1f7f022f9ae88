package governance_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"pnyx/governance"
	"pnyx/test/check"
)

// nasty has everything that forums put into posts, and some that they never should.
const nasty = `<h1><a name="x" class="anchor" href="#x"></a>A &amp; B</h1>
<style>p { color: red }</style><script>alert("x")</script><noscript><p>no</p></noscript>
<aside class="quote no-group" data-username="ana" data-post="1" data-topic="7">
<div class="title"><div class="quote-controls"></div><img alt="" src="a.png" class="avatar"> ana:</div>
<blockquote><p>What somebody else said.</p></blockquote>
</aside>
<p>First   sentence&nbsp;here &lt;3 <img src="s.png" title=":smile:" class="emoji" alt=":smile:">.
Second, with <code>a &lt; b</code> and a <a href="https://snapshot.org/#/dao.eth/proposal/0xAB">vote</a>!<br>A new line.</p>
<aside class="onebox allowlistedgeneric" data-onebox-src="https://www.tally.xyz/gov/dao/proposal/9">
<header class="source"><a href="https://www.tally.xyz/gov/dao/proposal/9">tally.xyz</a></header>
<article class="onebox-body"><h3>Tally</h3><p>The preview of a page.</p></article></aside>
<ul><li>one</li><li><p>two</p><ol start="3"><li>three</li><li>four</li></ol></li></ul>
<pre><code class="lang-go">if a {
	b()
}
</code></pre>
<div class="lightbox-wrapper"><a class="lightbox" href="b.png"><img src="b.png" alt="chart"><div class="meta"><svg><use href="#i"></use></svg><span class="filename">chart</span><span class="informations">690×388 12 KB</span></div></a></div>
<div class="md-table"><table><thead><tr><th>Name</th><th>OP</th></tr></thead><tbody><tr><td>x</td><td>1</td></tr></tbody></table></div>
<iframe src="https://evil.example"><b>in a frame</b></iframe><p onclick="x()">Last` + "\u202e\u200b\x07" + ` word &lt;script&gt;alert(1)&lt;/script&gt;`

const nastyText = `A & B

ana:

> What somebody else said.

First sentence here <3 :smile:. Second, with a < b and a vote!
A new line.

https://www.tally.xyz/gov/dao/proposal/9

- one
- two
  3. three
  4. four

if a {
 b()
}

[chart]

Name | OP
x | 1

Last word < script>alert(1)< /script>`

const nastySummary = `First sentence here <3 . Second, with a < b and a vote! A new line. one two three four Last word < script>alert(1)< /script>`

func TestParsePostReturnsPlainText(t *testing.T) {
	t.Parallel()
	got := governance.ParsePost(nasty)
	want := governance.Post{Text: nastyText, Summary: nastySummary, Links: []string{"snapshot:0xab", "tally:dao:9"}}
	check.WantSame(t, "answer", want, got)
}

func TestASummaryEndsWithASentenceOrAWord(t *testing.T) {
	t.Parallel()
	sentence := strings.Repeat("word ", 20) + "end. " // 104 characters with the space
	for name, c := range map[string]struct{ post, want string }{
		"nothing":                    {"", ""},
		"short":                      {"<p>One. Two</p>", "One. Two"},
		"whole sentences":            {strings.Repeat(sentence, 4), strings.TrimSpace(strings.Repeat(sentence, 2))},
		"a line without full stop":   {"<ul><li>" + strings.TrimSuffix(sentence, ". ") + "</li><li>" + strings.Repeat("x", 300) + "</li></ul>", strings.TrimSuffix(sentence, ". ")},
		"a quotation's end":          {"<p>“" + strings.TrimSpace(sentence) + "” " + strings.Repeat("x", 300), "“" + strings.TrimSpace(sentence) + "”"},
		"one endless sentence":       {strings.Repeat("word ", 100), strings.Repeat("word ", 55) + "word…"},
		"one endless word":           {strings.Repeat("民", 300), strings.Repeat("民", 279) + "…"},
		"hello, then an endless one": {"<p>Hello!</p><p>" + strings.Repeat("abc ", 100), "Hello! " + strings.Repeat("abc ", 67) + "abc…"},
		"nothing but a heading":      {"<h1>Title</h1>", "Title"},
		"nothing but a quotation":    {`<aside class="quote"><blockquote>Theirs.</blockquote></aside>`, "> Theirs."},
	} {
		got := governance.ParsePost(c.post).Summary
		check.Want(t, c.want, got, name)
		if n := utf8.RuneCountInString(got); n > 280 {
			t.Errorf("%v: got %d characters, want at most 280", name, n)
		}
	}
}

func TestParsePostBoundsSizeAndDepth(t *testing.T) {
	t.Parallel()
	deep := governance.ParsePost(strings.Repeat("<blockquote><ul><li>", 100_000) + "x" + strings.Repeat("</li></ul></blockquote>", 100_000) + "<p>y")
	check.Want(t, strings.Repeat("> ", 6)+strings.Repeat("  ", 6)+"- x\n\ny", deep.Text)
	long := governance.ParsePost("<p>" + strings.Repeat("民", 1<<20))
	if n := len(long.Text); n > 1<<20 || n < 1<<20-3 || !utf8.ValidString(long.Text) {
		t.Errorf("got %d bytes of text, want 1 MiB of whole characters", n)
	}
}

func FuzzReadPost(f *testing.F) {
	for _, post := range []string{
		nasty, "", "<", "</", "<scr<script>ipt>alert(1)</script>", "<<b>script>x", "&lt;script&gt;", "<script", "<script/>x", "<svg/>x", "<svg><svg>",
		"<aside class=onebox>", "</ul></ol></li></pre></blockquote>x", "<li>x", "<ol start=99999999999999999999><li>x", "<ol start=-9223372036854775808><li>x",
		"\xff\x00<p\x00>", "<plaintext>x</plaintext>", "<textarea><script></textarea>", "<title><iframe>", "<td>x<td>y", "<img alt='<script>'>", "<pre>\n\n\n x\n</pre>",
		"<a href='https://snapshot.org/#/a/proposal/%zz'>", "<xmp><style></xmp>", "<math><annotation-xml encoding='text/html'><script>",
	} {
		f.Add(post)
	}
	f.Fuzz(func(t *testing.T, cooked string) {
		post := governance.ParsePost(cooked)
		for _, text := range []string{post.Text, post.Summary} {
			if !utf8.ValidString(text) || strings.TrimSpace(text) != text || strings.ContainsAny(text, "\x00\r\u202e") {
				t.Errorf("got %q, want clean text", text)
			}
			wantHarmless(t, text)
		}
		if utf8.RuneCountInString(post.Summary) > 280 || strings.Contains(post.Summary, "\n") || len(post.Text) > 1<<20+64 {
			t.Errorf("got a summary %q of a text of %d bytes, want them bounded", post.Summary, len(post.Text))
		}
		if (post.Text == "") != (post.Summary == "") {
			t.Errorf("got summary %q of text %q, want both or none", post.Summary, post.Text)
		}
		if again := governance.ParsePost(cooked); !cmp.Equal(post, again) {
			t.Error("two readings differ")
		}
	})
}

// wantHarmless shows a text as HTML and wants no element in it that acts.
func wantHarmless(t *testing.T, text string) {
	t.Helper()
	tokens := html.NewTokenizer(strings.NewReader(text))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken, html.SelfClosingTagToken:
			switch name := tokens.Token().Data; name {
			case "script", "style", "iframe", "object", "embed", "svg", "link", "meta", "base", "img":
				t.Fatalf("%q: got <%s, want no such element", text, name)
			}
		case html.TextToken, html.EndTagToken, html.CommentToken, html.DoctypeToken:
		}
	}
}
