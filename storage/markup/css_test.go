package markup

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func cssOptions(t testing.TB) Options {
	o := options(t)
	o.ContentType = "text/css"
	return o
}

func TestCSS_Places(t *testing.T) {
	tryPlaces(t, CSS, cssOptions(t), []placeTest{
		{"url, all ways to write it", `a{b:url(x.png);c:url( "y" );d:URL('z');e:url(  w  )}`, "embed url x.png; embed url y; embed url z; embed url w", `a{b:url(r1.x);c:url( "r2.x" );d:URL('r3.x');e:url(r4.x)}`},
		{"escapes", `a{b:url(a\ b\)\28);c:url("\"\41 x\
y");d:u\72 l(z);e:\75rl(w)}`, `embed url a b)(; embed url "Axy; embed url z; embed url w`, `a{b:url(r1.x);c:url("r2.x");d:url(r3.x);e:url(r4.x)}`},
		{"comments", `/* url(a) */a{b:/**/url(x)/*url(*/;c:url("y"/**/);d:url(/*z*/)}`, "embed url x; embed url y; embed url /*z*/", `/* url(a) */a{b:/**/url(r1.x)/*url(*/;c:url("r2.x"/**/);d:url(r3.x)}`},
		{"data and places in the page", `a{b:url(data:image/png,x);c:url(#grad);d:url();e:url("")}`, "", `a{b:url(data:image/png,x);c:url(#grad);d:url();e:url("")}`},
		{"import", `@import "a";@IMPORT url(b) layer(x) supports(background:url(q)) screen;@import url('c');@import 'd' layer;@\69mport "e";@import src("f");`,
			"style import a; style import b; style import c; style import d; style import e; style import f", `@import "r1.x";@IMPORT url(r2.x) layer(x) supports(background:url(q)) screen;@import url('r3.x');@import 'r4.x' layer;@\69mport "r5.x";@import src("r6.x");`},
		{"namespace and document are names", `@namespace svg url(http://www.w3.org/2000/svg);@namespace "x";@-moz-document url(http://x/){a{b:url(y)}}`, "embed url y", `@namespace svg url(http://www.w3.org/2000/svg);@namespace "x";@-moz-document url(http://x/){a{b:url(r1.x)}}`},
		{"image-set", `a{b:image-set("x" 1x type("image/png"), url(y) 2x);c:-webkit-image-set('z' 1x)}`, "embed image-set x; embed url y; embed image-set z", `a{b:image-set("r1.x" 1x type("image/png"), url(r2.x) 2x);c:-webkit-image-set('r3.x' 1x)}`},
		{"font-face", `@font-face{src:local("a"),url("b") format("woff2"),url(c)format("x"),src("d" cross-origin(use-credentials))}`, "embed url b; embed url c; embed src d", `@font-face{src:local("a"),url("r1.x") format("woff2"),url(r2.x)format("x"),src("r3.x" cross-origin(use-credentials))}`},
		{"modifiers of url", `a{b:url("x" crossorigin(anonymous) integrity("y"));c:url(z)}`, "embed url x; embed url z", `a{b:url("r1.x" crossorigin(anonymous) integrity("y"));c:url(r2.x)}`},
		{"tokens that are not url()", `a{b:xurl(a);c:-url(b);d:1url(c);e:#url(d);f:"url(e)";g:attr(url);h:url}`, "", `a{b:xurl(a);c:-url(b);d:1url(c);e:#url(d);f:"url(e)";g:attr(url);h:url}`},
		{"bad urls", `a{b:url(x y);c:url(x"y);d:url(ok)}`, "embed url ok", `a{b:url(x y);c:url(x"y);d:url(r1.x)}`},
		{"a string that a line ends", "a{b:url(\"x\n);c:url(y)}", "embed url y", "a{b:url(\"x\n);c:url(r1.x)}"},
		{"not closed at the end", `a{b:url("x`, "embed url x", `a{b:url("r1.x"`},
		{"not closed, bare", `a{b:url(x`, "embed url x", `a{b:url(r1.x)`},
		{"custom properties", `a{--b:url(x);--c:(url("y"))}`, "embed url x; embed url y", `a{--b:url(r1.x);--c:(url("r2.x"))}`},
		{"CDO", `<!-- @import "a"; -->`, "style import a", `<!-- @import "r1.x"; -->`},
	})
}

func TestCSS_IsLinear(t *testing.T) {
	for _, part := range []string{`url("x" url("y" `, `url(x y `, `url(`, `\75`, `(`, `image-set(`, `u\`, `"\`, `@import (`, `/*`, `url("`, `u\75`} {
		out, err := CSS([]byte(strings.Repeat(part, 100_000)), cssOptions(t), func(Ref) (string, bool) { return "x", true })
		require.NoError(t, err)
		assert.LessOrEqualf(t, len(out), 100_000*(len(part)+8), "%q: %d octets, %v", part, len(out), err)
	}
}
