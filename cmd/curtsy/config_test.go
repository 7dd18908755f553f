package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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

func configAtHome(t *testing.T, text string) (path string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, dir)
	}
	path, err := crawldir.UserConfig()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	configWrite(t, path, text)
	return path
}

func configWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The file that init writes has every setting and every key of a table for some hosts; as it is, it says nothing, and with
// its settings set free it says the defaults.
func TestTheFileHasEverySettingAndItsDefault(t *testing.T) {
	configAtHome(t, "")
	path := filepath.Join(t.TempDir(), "c.toml")
	if out, errs, code := configRun(t, "init", path); code != 0 || out != "" {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if f, err := crawldir.ReadFile(path); err != nil || len(f.Values) > 0 {
		t.Errorf("%v, says %v", err, f.Values)
	}
	settings, hosts, _ := strings.Cut(string(b), "# [[host]]\n")
	setFree := regexp.MustCompile(`(?m)^# ([a-z0-9-]+ = )`)
	configWrite(t, path, setFree.ReplaceAllString(settings, "$1"))
	if wrong := crawldir.CheckFile(path); len(wrong) > 0 {
		t.Error(wrong)
	}
	f, err := crawldir.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := crawldir.Defaults()
	for _, name := range crawldir.Names() {
		if given, err := f.Give(&s, name); err != nil || !given {
			t.Errorf("%s: %v %v", name, given, err)
		}
		if !regexp.MustCompile(`(?m)^## .+\n# ` + name + ` = `).Match(b) {
			t.Errorf("%s has no comment", name)
		}
	}
	was, defaults := mustTOML(t, &s), mustTOML(t, ref(crawldir.Defaults()))
	if was != defaults {
		t.Errorf("%s\ndefaults\n%s", was, defaults)
	}
	configWrite(t, path, "[[host]]\n"+setFree.ReplaceAllString(hosts, "$1"))
	if wrong := crawldir.CheckFile(path); len(wrong) > 0 {
		t.Error(wrong)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestInitLeavesAFileAsItIs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	configWrite(t, path, "max-pages = 3\n")
	if _, errs, code := configRun(t, "init", path); code != cli.ExitUsage || !strings.Contains(errs, "is not overwritten") {
		t.Errorf("%d %s", code, errs)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "max-pages = 3\n" {
		t.Errorf("%v %s", err, b)
	}
	if out, _, code := configRun(t, "init"); code != 0 || !strings.Contains(out, "# max-pages = 0\n") {
		t.Errorf("%d %s", code, out)
	}
}

// A check names everything that is wrong, in its order, with line, column and what comes nearest; others name the first.
func TestCheckNamesEverythingThatIsWrong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	for _, tt := range []struct {
		file string
		want []string
	}{
		{"max-pages = 3\n[[host]]\nmatch = 'a.test'\n", nil},
		{"max-pages = \n", []string{":1:"}},
		{
			"max-pags = 3\n  delay = 5\nquota = 3\nmatch = 'x'\nmax-body = 'many'\nworkers = [1]\n\n[[host]]\nmatch = 'http://x'\ndelay = '10ms'\nmax-pages = 3\n" +
				"hours = ['a']\nexclude = ['(']\n[[host]]\nmax-per-host = -1\n[host.x]\ny = 1\n",
			[]string{
				`:1:1: unknown key "max-pags"; did you mean "max-pages"?`, `:2:3: delay: "5" has no unit`, `:3:1: unknown key "quota"`,
				`:4:1: unknown key "match"; it is below a [[host]]`, `:5:1: max-body:`, `:6:1: workers:`, `:9:1: [[host]] match: "http://x"`,
				`:10:1: [[host]] delay: 10ms is below the floor of 1s`, `:11:1: unknown key "max-pages" of [[host]]; a setting of the whole crawl belongs above the first [[host]]`,
				`:12:1: [[host]] hours: "a"`, `:13:1: [[host]] exclude: "("`, `:14:3: [[host]] match: it is missing`, `:15:1: [[host]] max-per-host:`, `:16:`, `:17:`,
			},
		},
		{"scope = 'any'\ncontact = 'crawl@library.org'\n", []string{":1:1: --scope any has no end"}},
		{"delay = '2s'\nip-delay = '1ms'\n", []string{":2:1: --ip-delay 1ms"}},
		{"include = ['(']\n", []string{":1:1: "}},
	} {
		configWrite(t, path, tt.file)
		out, errs, code := configRun(t, "check", path)
		if len(tt.want) == 0 {
			if code != 0 || !strings.Contains(out, ": OK") {
				t.Errorf("%s\n%d %s", tt.file, code, errs)
			}
			continue
		}
		lines := strings.Split(strings.TrimSpace(errs), "\n")
		if code != cli.ExitUsage || len(lines) != len(tt.want)+1 {
			t.Errorf("%s\n%d, %d lines, want %d:\n%s", tt.file, code, len(lines), len(tt.want)+1, errs)
			continue
		}
		for i, want := range tt.want {
			if !strings.HasPrefix(lines[i], path+want) && !strings.Contains(lines[i], want) {
				t.Errorf("line %d is %s, want %s", i+1, lines[i], want)
			}
		}
	}
	if _, errs, code := configRun(t, "check", filepath.Join(t.TempDir(), "none")); code != cli.ExitUsage || errs == "" {
		t.Errorf("%d %s", code, errs)
	}
}

// Every setting is shown with who says so: a flag before the environment, before --config, before the user's file.
func TestShowSaysWhereEachSettingComesFrom(t *testing.T) {
	user := configAtHome(t, "# mine\ncontact = 'crawl@library.org'\ndelay = '7s'\nmax-time = '7h'\nmax-pages = 7\n[[host]]\nmatch = 'a.test'\n")
	file := filepath.Join(t.TempDir(), "c.toml")
	configWrite(t, file, "delay = '2s'\n\nmax-time = '2h'\nmax-pages = 2\n[[host]]\nmatch = 'b.test'\ndelay = '5s'\n")
	t.Setenv("CURTSY_MAX_TIME", "3h")
	t.Setenv("CURTSY_MAX_PAGES", "3")
	out, errs, code := configRun(t, "show", "--origin", "--config", file, "--max-pages", "4")
	if code != 0 {
		t.Fatal(errs)
	}
	for name, want := range map[string]string{
		"max-pages = 4": "flag --max-pages", "max-time = '3h'": "environment CURTSY_MAX_TIME", "delay = '2s'": file + ":1 (file)",
		"contact = 'crawl@library.org'": user + ":2 (your file)", "workers = 64": "default",
	} {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` +# ` + regexp.QuoteMeta(want) + `$`).MatchString(out) {
			t.Errorf("no %s, %s", name, want)
		}
	}
	if !strings.HasSuffix(out, "\n# "+file+" (file)\n[[host]]\nmatch = 'b.test'\ndelay = '5s'\n") || strings.Contains(out, "a.test") {
		t.Errorf("%s", out)
	}
	// What it shows is a file of settings again.
	again := filepath.Join(t.TempDir(), "again.toml")
	configWrite(t, again, out)
	if wrong := crawldir.CheckFile(again); len(wrong) > 0 {
		t.Error(wrong)
	}
	out, _, _ = configRun(t, "show", "--json")
	var got struct {
		Settings []configShown
		Hosts    []struct{ Match string }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got.Settings) != len(crawldir.Names()) || len(got.Hosts) != 1 || got.Hosts[0].Match != "a.test" {
		t.Errorf("%v\n%s", err, out)
	}
	if _, errs, code := configRun(t, "show", t.TempDir()); code != cli.ExitUsage {
		t.Errorf("%d %s", code, errs)
	}
}
