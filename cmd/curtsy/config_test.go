package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// configRun runs a command of curtsy config, in a home without settings.
func configRun(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var o, e strings.Builder
	cmd := configCommand(cli.Streams{In: strings.NewReader(""), Out: &o, Err: &e})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cli.Finish(cmd)
	err := cmd.ExecuteContext(t.Context())
	code = cli.Report(&e, err)
	return o.String(), e.String(), code
}

func configWrite(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// The file that init writes has every setting and every key of a table for some hosts; as it is, it says nothing, and with
// its settings set free it says the defaults.
func TestTheFileHasEverySettingAndItsDefault(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.toml")
	if out, errs, code := configRun(t, "init", path); code != 0 || out != "" {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	b := fileOf(t, path)
	if f, err := crawldir.ReadFile(path); err != nil || len(f.Values) > 0 {
		t.Errorf("%v, says %v", err, f.Values)
	}
	settings, hosts, _ := strings.Cut(string(b), "# [[host]]\n")
	setFree := regexp.MustCompile(`(?m)^# ([a-z0-9-]+ = )`)
	configWrite(t, path, setFree.ReplaceAllString(settings, "$1"))
	assert.Empty(t, crawldir.CheckFile(path))
	f, err := crawldir.ReadFile(path)
	require.NoError(t, err)
	s := crawldir.Defaults()
	for _, name := range crawldir.Names() {
		if given, err := f.Give(&s, name); err != nil || !given {
			t.Errorf("%s: %v %v", name, given, err)
		}
		assert.Truef(t, regexp.MustCompile(`(?m)^## .+\n# `+name+` = `).Match(b), "%s has no comment", name)
	}
	was, defaults := mustTOML(t, &s), mustTOML(t, ref(crawldir.Defaults()))
	if was != defaults {
		t.Errorf("%s\ndefaults\n%s", was, defaults)
	}
	configWrite(t, path, "[[host]]\n"+setFree.ReplaceAllString(hosts, "$1"))
	assert.Empty(t, crawldir.CheckFile(path))
	var names []string
	for _, m := range setFree.FindAllStringSubmatch(hosts, -1) {
		names = append(names, strings.TrimSuffix(m[1], " = "))
	}
	if !slices.Equal(names, crawldir.HostNames()) || len(hostComments) != len(names) {
		t.Errorf("%q, want %q", names, crawldir.HostNames())
	}
	if f, err := crawldir.ReadFile(path); err != nil {
		t.Error(err)
	} else if rules, ok, err := f.Hosts(); err != nil || !ok || len(rules) != 1 || rules[0].Delay == 0 || len(rules[0].Hours) == 0 {
		t.Errorf("%v %v %+v", ok, err, rules)
	}
}

func ref[T any](v T) *T { return &v }

func mustTOML(t *testing.T, s *crawldir.Settings) string {
	t.Helper()
	b, err := s.TOML()
	require.NoError(t, err)
	return string(b)
}
