package crawldir

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/hostrule"
)

func TestAfterAKillAHostSettingHolds(t *testing.T) {
	s := Defaults()
	s.Hosts = hostrule.Rules{{Match: "a.test", Delay: 20 * time.Second}}
	o := s.FrontierOptions()
	for host, want := range map[string]time.Duration{"a.test": 20 * time.Second, "b.test": time.Second} {
		c, err := Seed("http://"+host+"/", "")
		require.NoError(t, err)
		assert.Equal(t, want, o.RestartPace(c.URL.Authority()), host)
	}
}
