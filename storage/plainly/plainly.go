// Package plainly turns errors and reasons into text for users, from one table for all commands, reports and pages.
// Ledger, archive and JSON keep the short names, for programs.
package plainly

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"
	"unicode"
)

//go:embed words.txt
var text string

// Words returns the meanings of names in one part of the text.
func Words(part string) map[string]string {
	_, lines, _ := strings.Cut(text, "\n== "+part+"\n")
	lines, _, _ = strings.Cut(lines, "\n\n")
	said := map[string]string{}
	for line := range strings.Lines(lines) {
		name, meaning, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
		said[name] = meaning
	}
	return said
}

// words are the reasons that need an explanation.
var words = Words("reasons")

// meanings and kinds explain the counts of ledgers.
var meanings, kinds = Words("meanings"), Words("decisions")

// exports explain the omissions of an export, and missing values in its rows.
var exports = Words("exports")

// LeftOut explains why an export omits something, or a row lacks a value. A name without words stays as it is.
func LeftOut(name string) string { return cmp.Or(exports[name], name) }

// beforeTheKill may end a reason.
const beforeTheKill = " before the kill"

// Reason explains a failure. A reason in plain words stays as it is.
func Reason(name string) string {
	prefix := ""
	if rest, ok := strings.CutPrefix(name, "robots.txt: "); ok {
		prefix, name = "robots.txt: ", rest
	}
	base, killed := strings.CutSuffix(name, beforeTheKill)
	w, ok := words[base]
	switch {
	case !ok:
		return prefix + name
	case killed:
		return prefix + w + beforeTheKill
	}
	return prefix + w
}

// Meaning explains the name of a count; "" if the name suffices.
func Meaning(name string) string {
	if m := meanings[name]; m != "" {
		return m
	}
	if m := meanings["refuse: "+name]; m != "" {
		return m
	}
	kind, rest, _ := strings.Cut(name, ": ")
	for _, reason := range []string{name, rest} {
		if m := Reason(reason); m != reason {
			return m
		}
	}
	if m := meanings[rest]; m != "" {
		return m
	}
	return kinds[kind]
}

// Name returns the short name of a reason, also of one in plain words.
func Name(reason string) string {
	prefix := ""
	if rest, ok := strings.CutPrefix(reason, "robots.txt: "); ok {
		prefix, reason = "robots.txt: ", rest
	}
	for name, w := range words {
		if w == reason {
			return prefix + name
		}
	}
	return prefix + reason
}

// Count formats a number of things: 1 page, 2 pages.
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.FormatInt(int64(n), 10) + " " + thing + "s"
}

// Duration formats d without zero units: 5m, not 5m0s.
func Duration(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Size formats bytes exactly, in the largest possible unit, as a flag or setting takes them: 100MiB, 4097B.
func Size(n int64) string { return strings.Replace(ExactSize(n), " ", "", 1) }

// ExactSize formats bytes exactly, in the largest possible unit, for users: 100 MiB, 4097 B.
func ExactSize(n int64) string {
	if n == 0 {
		return "0"
	}
	for i, unit := range []string{"TiB", "GiB", "MiB", "KiB"} {
		if f := int64(1) << (40 - 10*i); n >= f && n%f == 0 {
			return strconv.FormatInt(n/f, 10) + " " + unit
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}

// RoughSize formats bytes for users: 512 B, 1.5 MiB, 120 GiB.
func RoughSize[N int64 | float64](n N) string {
	f, unit := float64(n), 0
	for f >= 999.5 && unit < 4 {
		f /= 1024
		unit++
	}
	decimals := 1
	if unit == 0 || f >= 99.5 {
		decimals = 0
	}
	return strconv.FormatFloat(f, 'f', decimals, 64) + " " + [...]string{"B", "KiB", "MiB", "GiB", "TiB"}[unit]
}

// Seconds formats a measured time to the millisecond: 1.500 s. It rounds down, so that a delay never looks too long.
func Seconds(s float64) string {
	ms := math.Floor(s*1000 + 1e-6)
	if ms < 1 && s > 0 {
		return "< 0.001 s"
	}
	return strconv.FormatFloat(ms/1000, 'f', 3, 64) + " s"
}

// RoughDuration formats d for users in at most two units: 1.5 s, 12 min, 2 h 50 min, 3 days. Below 2 min it rounds whole
// microseconds down, so that a delay never looks longer than it was.
func RoughDuration(d time.Duration) string {
	switch {
	case d < 0:
		return "–"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Round(time.Microsecond).Truncate(100*time.Millisecond).Seconds(), 'f', -1, 64) + " s"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Round(time.Microsecond)/time.Second)) + " s"
	case d < time.Hour-time.Minute/2:
		return strconv.FormatFloat(d.Minutes(), 'f', 0, 64) + " min"
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return strconv.Itoa(int(d.Hours())) + " h " + strconv.Itoa(int(d.Minutes())%60) + " min"
	}
	return strconv.FormatFloat(d.Hours()/24, 'f', 0, 64) + " days"
}

// Rate formats a rate per second: 0.05, 12.5, 1,234.
func Rate(f float64) string {
	switch {
	case f == 0:
		return "0"
	case f < 0.095:
		return strconv.FormatFloat(f, 'f', 2, 64)
	case f < 99.95:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return Grouped(int64(math.Round(f)))
}

// Grouped formats a number with thousands separators: 1,234,567.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Sentences returns a function that executes a template and returns its lines except empty ones. The template may call
// Count as count.
func Sentences(text string) func(of any) []string {
	t := template.Must(template.New("").Funcs(template.FuncMap{"count": Count[int64]}).Parse(text))
	return func(of any) []string {
		var b strings.Builder
		if err := t.Execute(&b, of); err != nil {
			return []string{err.Error()} // a mistake in the template
		}
		return slices.DeleteFunc(strings.Split(b.String(), "\n"), func(s string) bool { return s == "" })
	}
}

// OneLine makes text from the web safe for display in one line: it escapes unprintable characters, also direction marks
// and line ends.
func OneLine(s string) string { return escaped(s, unicode.IsPrint) }

// Lines is OneLine for several lines: it keeps line ends and tabs.
func Lines(s string) string {
	return escaped(s, func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) })
}

func escaped(s string, shown func(r rune) bool) string {
	if strings.IndexFunc(s, func(r rune) bool { return !shown(r) || r == unicode.ReplacementChar }) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if shown(r) {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

// packages are the prefixes of errors by package name.
var packages = []string{
	"frontier/bolt: ", "frontier/ndjson: ", "frontier: ", "crawler: ", "fetch: ", "hostlock: ", "scope: ", "optout: ",
	"ledger: ", "warc: ", "cdxj: ", "wacz: ", "mirror: ", "audit: ", "proof: ", "report: ", "robots: ", "durable: ", "canon: ",
	"toml: ", "checkpoint: ", "tree: ", "witness: ", "timestamp: ",
}

// Error formats an error for users, without the names of packages and system calls.
func Error(err error) string {
	text := err.Error()
	each(err, func(err error) {
		if plain := system(err); plain != "" {
			text = strings.ReplaceAll(text, err.Error(), plain)
		}
	})
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Text(line)
	}
	return strings.Join(lines, "\n")
}

// Text removes package names from the text of an error, in one line.
func Text(line string) string {
	for more := true; more; { // prefixes may be nested
		more = false
		for _, p := range packages {
			if rest, ok := strings.CutPrefix(line, p); ok {
				line, more = strings.TrimPrefix(rest, "open "), true
			}
			line = strings.ReplaceAll(line, ": "+p, ": ")
		}
	}
	return line
}

// each calls do with every error of a tree, outer before inner.
func each(err error, do func(error)) {
	if err == nil {
		return
	}
	do(err)
	switch e := err.(type) { //nolint:errorlint // the tree itself is walked
	case interface{ Unwrap() error }:
		each(e.Unwrap(), do)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			each(one, do)
		}
	}
}

// system describes a system error; "" if err itself is not one.
func system(err error) string {
	switch e := err.(type) { //nolint:errorlint // called for every error of a tree
	case *fs.PathError:
		if made := e.Op == "write" || e.Op == "mkdir"; made && errors.Is(e.Err, fs.ErrNotExist) {
			return e.Path + " cannot be created: no folder " + filepath.Dir(e.Path) + ", or it is not writable; use another path"
		}
		return ofFile(e.Path, e.Err)
	case *os.LinkError:
		return ofFile(e.New, e.Err)
	case *json.SyntaxError:
		return "it is not JSON"
	case *net.AddrError:
		return "not an ADDRESS:PORT"
	case *os.SyscallError:
		return cause(e.Err)
	case *net.OpError:
		if e.Addr == nil {
			return cause(e.Err)
		}
		return e.Addr.String() + ": " + cause(e.Err)
	case *net.DNSError:
		return "unknown host " + e.Name
	}
	return ""
}

// ofFile describes an error of a file.
func ofFile(path string, err error) string {
	switch {
	case path == "":
		return "a file needs a name"
	case strings.Contains(path, "\x00"):
		return path + ": no file can have such a name"
	case errors.Is(err, fs.ErrNotExist):
		return path + " does not exist"
	}
	return path + ": " + cause(err)
}

// cause describes the innermost error.
func cause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "you have no permission for that"
	case errors.Is(err, fs.ErrExist):
		return "there is one already"
	case errors.Is(err, syscall.EISDIR):
		return "it is a folder, not a file"
	case errors.Is(err, syscall.ENOTDIR):
		return "a part of its path is a file, not a folder"
	case errors.Is(err, syscall.EINVAL):
		return "the system does not take that"
	case errors.Is(err, syscall.EADDRINUSE):
		return "somebody else listens there"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this machine does not have that address"
	case errors.Is(err, syscall.ECONNREFUSED):
		return words["connect"]
	}
	return err.Error()
}

// Argument quotes a file name for the shell if needed.
func Argument(name string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_"
	switch {
	case name == "" || strings.Trim(filepath.ToSlash(name), safe) != "":
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	case name[0] == '-':
		return "./" + name
	}
	return name
}

// Nearest returns the name closest to s, or "" if more than a third of the letters differ (but one may).
func Nearest(s string, names []string) string {
	best, least := "", max(len(s)/3, 1)+1
	for _, n := range names {
		if d := Distance(s, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// Distance is the number of letters to insert, delete, replace or swap with the next (optimal string alignment).
func Distance(a, b string) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		above[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := above[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}
