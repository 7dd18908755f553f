package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/crawldir"
)

// A setting is a flag and a key of files: each has the other's name, order, default and way to be written.
func TestEverySettingIsAFlag(t *testing.T) {
	var s crawldir.Settings
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SortFlags = false
	Flags(&s, fs)
	var names []string
	fs.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if !slices.Equal(names, crawldir.Names()) {
		t.Errorf("flags\n%v\nsettings\n%v", names, crawldir.Names())
	}
	defaults := crawldir.Defaults()
	file, err := defaults.TOML()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(file)), "\n")
	for i, name := range names {
		f := fs.Lookup(name)
		_, list := f.Value.(pflag.SliceValue)
		assert.Equalf(t, crawldir.IsList(name), list, "--%s is a list", name)
		text := strings.NewReplacer("'", "", "\"", "", ", ", ",").Replace(strings.TrimPrefix(lines[i], name+" = "))
		assert.Equalf(t, f.DefValue, text, "--%s is %s by default, the setting %s", name, f.DefValue, text)
	}
}
