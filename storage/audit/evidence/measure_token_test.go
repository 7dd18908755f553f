package evidence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTokenOf(t *testing.T) {
	for agent, want := range map[string]string{
		"Lantern/1.0 (+https://x.test)": "Lantern",
		"Wget/1.21.3":                   "Wget",
		"Mozilla/5.0 (compatible; heritrix/3.4.0 +http://x)": "heritrix",
		"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36": "",
		"Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)": "",
		"my_bot-x 1": "my_bot-x",
		"":           "",
	} {
		assert.Equal(t, want, TokenOf(agent), agent)
	}
}
