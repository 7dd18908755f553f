package extract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestText_IsTheVisibleText(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"title and paragraphs in order", "<title>T</title><p>a<b>b</b>c</p><p>d", "T|a|b|c|d"},
		{"no script, style or comment", "<style>s</style><script>s</script><!-- c --><p>x", "x"},
		{"no template, but a shadow root", "<template>no</template><div><template shadowrootmode=open>yes</template></div>", "yes"},
		{"noscript is for us", "<noscript>n</noscript><p>x", "n|x"},
		{"character references are characters", "<p>&lt;a&gt; &amp;", "<a> &"},
		{"another encoding", "<meta charset=iso-8859-1><p>k\xe4se", "käse"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			in := Input{URL: parse(t, "http://h.test/"), Body: strings.NewReader(tt.in), Text: func(s string) {
				if s = strings.TrimSpace(s); s != "" {
					got = append(got, s)
				}
			}}
			if _, err := New().HTML(t.Context(), in); err != nil {
				t.Fatal(err)
			}
			assert.Equal(t, tt.want, strings.Join(got, "|"))
		})
	}
}
