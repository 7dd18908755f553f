package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
)

// given parses a command line.
func given(t *testing.T, args ...string) (*crawldir.Settings, *pflag.FlagSet) {
	t.Helper()
	var s crawldir.Settings
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	Flags(&s, fs)
	require.NoError(t, fs.Parse(args))
	return &s, fs
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.toml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// home gives the test a configuration folder with a file.
func home(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv("AppData", dir)
	path, err := crawldir.UserConfig()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestSettings_Precedence(t *testing.T) {
	home(t, "purpose = \"users\"\noperator = \"users\"\nagent = \"users\"\ncontact = \"users\"\n")
	file := write(t, "operator = \"file\"\nagent = \"file\"\ncontact = \"file\"\n")
	t.Setenv("CURTSY_AGENT", "env")
	t.Setenv("CURTSY_CONTACT", "env")
	s, fs := given(t, "--contact", "flag")
	require.NoError(t, Resolve(s, fs, file, ""))
	if got, want := strings.Join([]string{s.Contact, s.Agent, s.Operator, s.Purpose, s.Scope}, " "), "flag env file users host"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

func TestEveryTypeOfSettingComesFromAFile(t *testing.T) {
	home(t, "")
	file := write(t, "workers = 7\ndelay = \"3s\"\nfresh = 0.7\nmax-body = \"5MiB\"\nexclude = [\"a\", \"b\"]\naccept = [\"text/html\", \".pdf\"]\ndepth = 2\n")
	s, fs := given(t)
	require.NoError(t, Resolve(s, fs, file, ""))
	if s.Workers != 7 || s.Delay != 3*time.Second || s.MaxBody != 5<<20 || len(s.Exclude) != 2 || len(s.Accept) != 2 || s.Depth != 2 || s.Fresh != 0.7 {
		t.Errorf("%+v", s)
	}
}

func TestEnv_HasEverySetting(t *testing.T) {
	home(t, "")
	for _, name := range crawldir.Names() {
		s, fs := given(t)
		f := fs.Lookup(name)
		value := map[string]string{"duration": "7s", "size": "7MiB", "int": "7", "standard": "std1994", "order": "depth", "bool": "true", "vanished": "remove", "layout": "flat", "draft": "ietf-00", "share": "0.7"}[f.Value.Type()]
		if value == "" {
			value = "seven"
		}
		t.Setenv(EnvName(name), value)
		require.NoError(t, Resolve(s, fs, "", ""))
		if got := strings.Trim(f.Value.String(), "[]"); got != value {
			t.Errorf("%s=%s: %s is %q", EnvName(name), value, name, got)
		}
		t.Setenv(EnvName(name), "")
		assert.Falsef(t, f.Changed, "%s counts as given on the command line: %v", name, s)
	}
	t.Setenv("CURTSY_CONFIG", write(t, "workers = 5\n"))
	s, fs := given(t)
	if err := Resolve(s, fs, "", ""); err != nil || s.Workers != 5 {
		t.Errorf("CURTSY_CONFIG: %v, %v", s.Workers, err)
	}
}

func TestEnv_EmptyVariableIsIgnored(t *testing.T) {
	home(t, "")
	t.Setenv("CURTSY_MAX_PAGES", "")
	t.Setenv("CURTSY_AGENT", "")
	s, fs := given(t)
	if err := Resolve(s, fs, "", ""); err != nil || s.MaxPages != 0 || s.Agent != "curtsy" {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestListsFromTheEnvironment(t *testing.T) {
	home(t, "")
	t.Setenv("CURTSY_ACCEPT", "text/html,.pdf .png")
	t.Setenv("CURTSY_EXCLUDE", "a{1,2} b")
	s, fs := given(t)
	require.NoError(t, Resolve(s, fs, "", ""))
	if strings.Join(s.Accept, " ") != "text/html .pdf .png" || strings.Join(s.Exclude, " ") != "a{1,2} b" {
		t.Errorf("accept %q, exclude %q", s.Accept, s.Exclude)
	}
}

func TestAMistypedVariableIsNamed(t *testing.T) {
	t.Setenv("CURTSY_MAX_PAGE", "3")
	t.Setenv("CURTSY_SOMETHING_ELSE_ENTIRELY", "3")
	var b strings.Builder
	WarnEnv(&b, crawldir.Names())
	assert.Equal(t, "CURTSY_MAX_PAGE in the environment is not a setting; did you mean CURTSY_MAX_PAGES?\n", b.String())
}

func TestConfig_AcceptsByteOrderMark(t *testing.T) {
	home(t, "\ufeffworkers = 7\r\n")
	s, fs := given(t)
	if err := Resolve(s, fs, "", ""); err != nil || s.Workers != 7 {
		t.Errorf("%v, %v", s.Workers, err)
	}
}

func TestConfig_ErrorNamesPlaceAndNearestKey(t *testing.T) {
	home(t, "")
	for _, tt := range []struct{ text, want string }{
		{"workers = 3\n  dely = \"1s\"\n", `c.toml:2:3: unknown key "dely"; did you mean "delay"?`},
		{"[delay]\nx = 1\n", `c.toml:1:2: unknown key "delay"`},
		{"workers = \n", "c.toml:1:"},
		{"delay = 5\n", `delay: "5" has no unit`},
		{"delay = [\"1s\", \"2s\"]\n", "one value is expected, not a list"},
		{"include = [[\"a\"]]\n", "a list of strings is expected"},
		{"workers = 1.5\n", `"1.5" is not a whole number`},
	} {
		s, fs := given(t)
		err := Resolve(s, fs, write(t, tt.text), "")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v; want %q", tt.text, err, tt.want)
		}
		assert.Equalf(t, cli.ExitUsage, cli.Report(&strings.Builder{}, err), "%q: exit code", tt.text)
	}
}

func TestSettings_RoundTrip(t *testing.T) {
	home(t, "")
	s, _ := given(t, "--delay", "1500ms", "--max-body", "5MiB", "--exclude", `\.zip$`, "--exclude", "say \"hi\"",
		"--accept", "text/html,.pdf", "--depth", "0", "--operator", "Bücherei\n", "--max-pages", "12")
	first, err := s.TOML()
	require.NoError(t, err)
	again, back := given(t)
	require.NoError(t, Resolve(again, back, "", write(t, string(first))))
	second, err := again.TOML()
	require.NoError(t, err)
	assert.Equalf(t, string(first), string(second), "%v\nwrote:\n%s\nread and wrote:\n%s", err, first, second)
}

// An empty name is the current directory, as for os.Open.
func TestOf_EmptyIsTheCurrentDirectory(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile(crawldir.ConfigName, []byte("depth = 7\n"), 0o600))
	s, err := Of("")
	require.NoError(t, err)
	assert.EqualValues(t, 7, s.Depth)
}

func TestSeeds_BOMTagsCommentsAndGarbage(t *testing.T) {
	file := "\ufeffhttps://a.example/\tnews\r\n" +
		"# a comment\r\n" +
		"\r\n" +
		"   https://b.example/  \r\n" +
		"not a url\r\n" +
		"ftp://c.example/\tfiles\n" +
		strings.Repeat("x", maxLine+10) + "\n" +
		"https://d.example/\t\t two tabs \n" +
		"https://e.example/" // no new line at the end
	var warnings strings.Builder
	s, err := OpenSeeds(nil, "-", true, cli.Streams{In: strings.NewReader(file), Err: &warnings})
	require.NoError(t, err)
	got, err := s.Next()
	require.NoError(t, err)
	complaints := strings.Split(strings.TrimSpace(warnings.String()), "\n")
	var urls []string
	for _, c := range got {
		urls = append(urls, c.URL.String()+" "+c.Tag)
	}
	want := []string{"https://a.example/ news", "https://b.example/ ", "https://d.example/ two tabs", "https://e.example/ "}
	if !slices.Equal(urls, want) {
		t.Errorf("seeds %q, want %q", urls, want)
	}
	for i, prefix := range []string{"standard input:5: ", "standard input:6: ", "standard input:7: "} {
		if i >= len(complaints) || !strings.HasPrefix(complaints[i], prefix) {
			t.Errorf("complaints %q, want the %dth to begin with %q", complaints, i+1, prefix)
		}
	}
	assert.Lenf(t, complaints, 3, "%d complaints, want 3: %q", len(complaints), complaints)
}

func TestSeedFile_ATagThatIsTooLongIsABadLine(t *testing.T) {
	file := "http://a.example/\t" + strings.Repeat("t", maxTag) + "\nhttp://b.example/\t" + strings.Repeat("t", maxTag+1) + "\n"
	var warnings strings.Builder
	s, err := OpenSeeds(nil, "-", true, cli.Streams{In: strings.NewReader(file), Err: &warnings})
	require.NoError(t, err)
	got, err := s.Next()
	require.NoError(t, err)
	require.Len(t, got, 1)
	assert.Len(t, got[0].Tag, maxTag)
	assert.Contains(t, warnings.String(), "standard input:2: tag longer")
}
