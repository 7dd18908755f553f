package crawldir

import (
	"os"
	"testing"
)

// TestMain has the tests and examples leave the folders of whoever runs them alone: keys and locks are kept there.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "curtsy-home-")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "AppData", "LocalAppData"} {
		os.Setenv(name, home)
	}
	code := m.Run()
	os.RemoveAll(home)
	os.Exit(code)
}
