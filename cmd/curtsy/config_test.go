package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// The file of config init has every setting and every key of [[host]] as comments, with the defaults.
func TestConfig_FileHasEverySetting(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.toml")
	atHome(t, "config", "init", path).want(t, cli.ExitDone)
	b := fileOf(t, path)
	if f, err := crawldir.ReadFile(path); err != nil || len(f.Values) > 0 {
		t.Errorf("%v, says %v", err, f.Values)
	}
	settings, hosts, _ := strings.Cut(string(b), "# [[host]]\n")
	setFree := regexp.MustCompile(`(?m)^# ([a-z0-9-]+ = )`)
	require.NoError(t, os.WriteFile(path, []byte(setFree.ReplaceAllString(settings, "$1")), 0o600))
	assert.Empty(t, crawldir.CheckFile(path))
	f, err := crawldir.ReadFile(path)
	require.NoError(t, err)
	s := crawldir.Defaults()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.Flags(flags, func(string) {})
	for _, name := range crawldir.Names() {
		if given, err := f.Give(flags.Lookup(name)); err != nil || !given {
			t.Errorf("%s: %v %v", name, given, err)
		}
		assert.Truef(t, regexp.MustCompile(`(?m)^## .+\n# `+name+` = `).Match(b), "%s has no comment", name)
	}
	defaults := crawldir.Defaults()
	assert.Equal(t, mustTOML(t, &defaults), mustTOML(t, &s))
	require.NoError(t, os.WriteFile(path, []byte("[[host]]\n"+setFree.ReplaceAllString(hosts, "$1")), 0o600))
	assert.Empty(t, crawldir.CheckFile(path))
	var names []string
	for _, m := range setFree.FindAllStringSubmatch(hosts, -1) {
		names = append(names, strings.TrimSuffix(m[1], " = "))
	}
	assert.Equal(t, crawldir.HostNames(), names)
	if f, err := crawldir.ReadFile(path); err != nil {
		t.Error(err)
	} else if rules, ok, err := f.Hosts(); err != nil || !ok || len(rules) != 1 || rules[0].Delay == 0 || len(rules[0].Hours) == 0 {
		t.Errorf("%v %v %+v", ok, err, rules)
	}
}

func mustTOML(t *testing.T, s *crawldir.Settings) string {
	t.Helper()
	b, err := s.TOML()
	require.NoError(t, err)
	return string(b)
}
