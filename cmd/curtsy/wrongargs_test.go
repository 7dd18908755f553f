package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
)

// rawWords are what Go, the system and libraries say, and what nobody who types a command has to know.
var rawWords = regexp.MustCompile(`(^|[ :])(open|stat|lstat|mkdir|read|readdir|rename|unlink|fdopendir|dial|listen) [^ ]*/|` +
	`strconv|syscall|goroutine|panic|bbolt|runtime error|<nil>|nil pointer|%!|\bEOF\b|entry:1|` +
	`invalid argument|invalid character|is a directory|not a directory|no such file|: file exists|missing port|too many colons|` +
	`unknown port|invalid port|lookup |parse "|net/|(^|[^-\w])(json|toml|gzip|zip|zstd|flate|x509|asn1|pem|canon|pflag|time|url): |` +
	`round tripp|unmarshal|looking for beginning`)

// commandLines are right arguments of every command but for one: FILE, DIR, URL, NEW (a file or folder to be made) and the
// like stand for what is right, and each in turn is replaced by what is wrong. A command that is not here takes no argument
// at all.
var commandLines = map[string][]string{
	"linkcheck":         {"--delay 0 --max-time 1s --max-wait 1ms --dir NEW URL", "--offline DIR"},
	"diff":              {"DIR"},
	"crawl":             {"--delay 0 --max-time 1s --max-wait 1ms --dir NEW URL"},
	"plan":              {"URL", "--ethics NEW URL"},
	"config init":       {"NEW"},
	"config show":       {"DIR", "--config FILE DIR"},
	"config check":      {"FILE"},
	"mirror":            {"--delay 0 --max-time 1s --max-wait 1ms --dir NEW URL"},
	"mirror check":      {"DIR"},
	"mirror rebuild":    {"DIR"},
	"resume":            {"DIR"},
	"update":            {"--max-time 1s DIR"},
	"watch":             {"--once DIR"},
	"status":            {"DIR"},
	"explain":           {"DIR URL"},
	"report":            {"DIR"},
	"export":            {"-o NEW DIR", "--graph pages -o NEW DIR", "--format wacz -o NEW.wacz DIR"},
	"mirror serve":      {"--listen PORT DIR"},
	"dashboard":         {"--listen PORT DIR"},
	"frontier ls":       {"DIR"},
	"frontier add":      {"DIR URL"},
	"frontier drop":     {"DIR URL", "--host HOST DIR"},
	"frontier pause":    {"--host HOST DIR"},
	"frontier unpause":  {"--host HOST DIR"},
	"frontier retry":    {"--host HOST DIR"},
	"frontier release":  {"--host HOST DIR"},
	"config set":        {"--delay 1h DIR"},
	"frontier export":   {"-o NEW DIR"},
	"frontier import":   {"NEW FILE"},
	"frontier repair":   {"DIR", "--dry-run DIR", "--compact DIR"},
	"identity own":      {"NAME"},
	"identity check":    {"--contact a@library.org URL"},
	"identity set":      {"--contact NAME"},
	"robots check":      {"--file FILE URL"},
	"robots diff":       {"FILE FILE", "FILE FILE URL"},
	"robots lint":       {"FILE"},
	"optout add":        {"DIR ENTRY"},
	"optout list":       {"DIR"},
	"ledger checkpoint": {"DIR"},
	"ledger prove":      {"--host NAME -o NEW DIR"},
	"ledger verify":     {"FILE", "--access-log FILE FILE", "--clock-skew TIME FILE"},
	"ledger submit":     {"--witness URL --witness-key NAME DIR"},
	"ledger compare":    {"DIR DIR", "FILE DIR"},
	"warc ls":           {"FILE"},
	"warc cat":          {"FILE NUMBER"},
	"warc check":        {"FILE"},
	"warc index":        {"FILE", "-o NEW FILE"},
	"audit":             {"PATH", "--access-log FILE DIR", "--access-log FILE --robots FILE --agent otherbot", "--html NEW DIR", "--from ADDRESS DIR", "--head HEX DIR", "--clock-skew TIME DIR"},
	"crawltest score":   {"WORD"},
	"help":              {"WORD"},
	"completion":        {"WORD"},
}

var placeholder = regexp.MustCompile(`\b(FILE|DIR|URL|NEW|PORT|HOST|NAME|ENTRY|NUMBER|PATH|ADDRESS|HEX|TIME|WORD)\b`)

// Whatever is given to any command that is no file, no folder, not there, no URL, no number, empty, or where nothing can be
// written, the command says in plain words, and with an exit code.
func TestWhateverArgumentIsWrongIsSaidInPlainWords(t *testing.T) {
	if testing.Short() {
		t.Skip("it tries each command")
	}
	amongOthers(t)
	seed, _ := small(t)
	base := t.TempDir()
	dir := filepath.Join(base, "d")
	shared(t, "mirror", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
	file, folder := filepath.Join(base, "file"), filepath.Join(base, "folder")
	if err := os.WriteFile(file, []byte("plain text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	right := map[string]string{
		"FILE": file, "DIR": dir, "URL": deadPort(t), "PORT": "127.0.0.1:0", "HOST": "http://127.0.0.1:9", "NAME": "www.example.org", "ENTRY": "example.org",
		"NUMBER": "0", "PATH": dir, "ADDRESS": "192.0.2.1", "HEX": strings.Repeat("0", 64), "TIME": "1s", "WORD": "word",
	}
	bad := []string{
		"", "%zz", "*", "8299", "nourl", "http://", "http://[::1/", "mailto:a@b.example", "127.0.0.1:port", "127.0.0.1:99999", "a b", "\x00", "\xff",
		file, folder, filepath.Join(base, "none"), filepath.Join(file, "in", "a", "file"), filepath.Join(base, strings.Repeat("long", 100)),
	}
	if runtime.GOOS == "linux" {
		bad = append(bad, "/proc/nothing-can-be-made-here")
	}
	n := 0
	for _, name := range runnable(testRoot(), "") {
		if commandLines[name] == nil && !strings.HasPrefix(name, "completion") {
			if c := called(t, strings.Fields(name)...); c.Args == nil || c.Args(c, []string{"stray"}) == nil {
				t.Errorf("curtsy %s takes arguments, and has no line here", name)
			}
		}
		for _, line := range commandLines[name] {
			places := placeholder.FindAllStringIndex(line, -1)
			for i, at := range places {
				for _, wrong := range bad {
					if accepted(name, line[at[0]:at[1]], wrong, file, folder) {
						continue
					}
					if n++; n%3 != 0 && !full() {
						continue
					}
					args := append(strings.Fields(name), strings.Fields(line)...)
					at := 0
					for j, a := range args {
						p := placeholder.FindString(a)
						if p == "" || j < len(strings.Fields(name)) {
							continue
						}
						value := right[p]
						if p == "NEW" {
							value = filepath.Join(base, fmt.Sprint("new", n))
						}
						if at == i {
							value = wrong
						}
						if args[j] = strings.Replace(a, p, value, 1); at == i && p == "NEW" {
							args[j] = value
						}
						at++
					}
					code := inPlainWords(t, args)
					if what := line[places[i][0]:places[i][1]]; code != cli.ExitUsage && (what == "URL" || what == "PORT" || what == "HEX" || what == "TIME") {
						t.Errorf("curtsy %q: exit code %d, though no %s is given", args, code, what)
					}
				}
			}
		}
	}
	if n < 500 {
		t.Errorf("%d command lines were tried", n)
	}
}

// accepted reports what is not wrong for a command after all, or would have it work in earnest.
func accepted(command, what, wrong, file, folder string) bool {
	switch {
	case command == "identity set" || command == "crawltest score" && wrong != "": // keeps it; runs a program of that name
		return true
	case (what == "NEW" || what == "PORT") && wrong == "": // the default
		return true
	case what == "NEW" && !strings.ContainsAny(wrong, "/"+string(filepath.Separator)): // a name like any other, in the folder of the tests
		return true
	case what == "NEW" && (strings.HasPrefix(wrong, "http:") || filepath.Base(wrong) == "none"): // likewise
		return true
	case what == "NEW" && command == "audit" && wrong == file: // is written anew
		return true
	}
	return false
}

// inPlainWords runs a command and looks at what it says.
func inPlainWords(t *testing.T, args []string) (code int) {
	t.Helper()
	r := inProcess(args...)
	said := r.err
	if m := rawWords.FindString(said); m != "" {
		t.Errorf("curtsy %q: exit code %d, %q is said: %s", args, r.code, m, said)
	}
	if r.code != cli.ExitDone && r.code != cli.ExitFound && strings.TrimSpace(said) == "" {
		t.Errorf("curtsy %q: exit code %d, and nothing is said", args, r.code)
	}
	return r.code
}

// Each flag of every command says in plain words what it does not take.
func TestWhateverValueOfAFlagIsWrongIsSaidInPlainWords(t *testing.T) {
	if testing.Short() {
		t.Skip("it tries each flag of each command")
	}
	amongOthers(t)
	for _, name := range runnable(testRoot(), "") {
		c := called(t, strings.Fields(name)...)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			for _, wrong := range []string{"", "%zz", "*", "-1", "99999999999999999999", "1e400", "[", "a=b=c", "\xff"} {
				fs := pflag.NewFlagSet("", pflag.ContinueOnError)
				fs.AddFlag(f)
				err := fs.Parse([]string{"--" + f.Name + "=" + wrong})
				if err == nil {
					continue
				}
				var said strings.Builder
				code := cli.Report(&said, cli.FlagError(c, err))
				if m := rawWords.FindString(said.String()); m != "" || code != cli.ExitUsage {
					t.Errorf("curtsy %s --%s=%q: exit code %d, %q is said: %s", name, f.Name, wrong, code, m, said.String())
				}
			}
		})
	}
}

// runnable are the names of the commands that do something, without the word curtsy.
func runnable(cmd *cobra.Command, above string) (names []string) {
	for _, c := range cmd.Commands() {
		name := strings.TrimSpace(above + " " + c.Name())
		names = append(names, runnable(c, name)...)
		if c.Runnable() && !c.Hidden {
			names = append(names, name)
		}
	}
	return names
}
