package canon

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func FuzzResolve_PlainEqualsParser(f *testing.F) {
	for _, base := range []string{"http://h.test/a/b?c", "https://h.test:8443/", "http://h.test/%7ea/b", "http://[::1]/x//y"} {
		for _, ref := range []string{
			"/x/y.html", "x", "x/y?z=1", "/", "//h.test/x", "/x//y", "http://h.test/x", "http://h.test//x", "http://h.test", "https://h.test:8443/x?y",
			"/..", "/x/../y", "x/.", "x./y.", ".x", "/x?", "/x?a/../b?c", "?x", "x:y", "/x:y", "x\\y", "/x%41", "x y", " x", "x\ty", "x#y", "/x'?'", "ä",
			"/x?" + strings.Repeat("y", shortURL), strings.Repeat("y", MaxLength),
		} {
			f.Add(base, ref)
			f.Add(base+strings.Repeat("z/", MaxLength/2-len(base)), ref)
		}
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		b, err := Parse(base)
		if err != nil {
			return
		}
		got, ok := b.resolvePlain(ref)
		if !ok {
			return
		}
		want, err := parse(ref, b)
		assert.Truef(t, err == nil && got == want, "%q at %s: %+v; the parser returns %+v, %v", ref, base, got, want, err)
	})
}

// Most links bypass the parser.
func TestResolve_MostLinksArePlain(t *testing.T) {
	base := mustParse(t, "http://h.test/a/b?c")
	for ref, want := range map[string]bool{
		"/x/y-z_1.html": true, "x": true, "x/y?z=1&a=b": true, "/": true, "http://h.test/x": true, "/x//y": true,
		"": false, "//h.test/x": false, "/x/../y": false, "./x": false, "/x%20y": false, "/x y": false, "x:y": false, "#x": false, "?x": false,
		"/x?": false, "https://h.test/x": false, "/ä": false, "\\x": false,
	} {
		_, ok := base.resolvePlain(ref)
		assert.Truef(t, ok == want, "%q: plain %t, want %t", ref, ok, want)
	}
	_, ok := (URL{}).resolvePlain("/x")
	assert.False(t, ok, "the zero URL resolves a path")
}
