package evidence

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRateLimitIsReadLikeTheCrawlReadsIt(t *testing.T) {
	const s = time.Second
	spaced := func(space, until time.Duration) quota { return quota{Given: true, Space: space, Until: until} }
	for field, want := range map[string]quota{
		`"p";r=10;t=60`:                        spaced(6*s, 60*s),
		`"p";r=10;t=0`:                         {Given: true},
		`"a";r=100;t=10, "b";r=50;t=100`:       spaced(2*s, 100*s),
		`"a";r=0;t=5,"b";r=2;t=10`:             {Given: true, Wait: 5 * s, Space: 5 * s, Until: 10 * s},
		`"p";r=0;t=999999999999999`:            {Given: true, Wait: day},
		`"p;r=1";r=10; t=60`:                   spaced(6*s, 60*s),
		`"p";r=1;t=999;r=10;t=60`:              spaced(6*s, 60*s),
		`"p\"";a=:cHNm:;x;y=?1;z="\"";r=1;t=2`: spaced(2*s, 2*s),
		`"p";w=tok/en;v=1.5;u=-1;r=1;t=2`:      spaced(2*s, 2*s),
		`"p";r=10`:                             {}, `p;r=10;t=60`: {}, `"p";r=-1;t=60`: {}, `"p";r=1.5;t=60`: {}, `"p";r="1";t=60`: {},
		`"p";r;t=60`: {}, `"p";r=;t=60`: {}, `"p";r=10;t=60,`: {}, `"p";r=10;t=60 "q"`: {}, `"p;r=10;t=60`: {}, `"p";R=10;t=60`: {},
		`"p";r=1000000000000000000;t=60`: {}, `"p";r=0;t=30, nonsense`: {}, "\"p\";r=10;t=60\x00": {}, "": {},
		`"` + strings.Repeat("p", maxRateLimit) + `";r=10;t=60`: {},
	} {
		assert.Equalf(t, want, RateLimit(field), "%.80s", field)
	}
}
