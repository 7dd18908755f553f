// Package plainly turns errors into text for users. Ledger, archive and JSON keep the short names, which programs read;
// what people read comes from here, from one table for all commands, reports and pages.
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

// Words returns a table of the text: what the names of a part of it mean. A name that is missing there has no meaning.
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

// words are the reasons that are no plain English by themselves.
var words = Words("reasons")

// meanings and kinds explain what ledgers count.
var meanings, kinds = Words("meanings"), Words("decisions")

// exports say what an export leaves out and what its rows lack.
var exports = Words("exports")

// LeftOut says why an export leaves something out, or a row lacks a value. A name without words stays as it is.
func LeftOut(name string) string { return cmp.Or(exports[name], name) }

// beforeTheKill is what a reason may end with.
const beforeTheKill = " before the kill"

// Reason says why something failed. A reason that is plain already stays as it is.
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

// Meaning explains a name of a count; "" where it says enough by itself.
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

// Name is the short name of a reason that is given in plain words or by its name.
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

// Count counts things: 1 page, 2 pages.
func Count[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.FormatInt(int64(n), 10) + " " + thing + "s"
}

// Duration writes a time the way people do: 5m, not 5m0s.
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

// Size writes bytes to the byte, in the largest unit that allows it, as a flag or a setting takes them: 100MiB, 4097B.
func Size(n int64) string { return strings.Replace(ExactSize(n), " ", "", 1) }

// ExactSize writes bytes to the byte, in the largest unit that allows it, for people: 100 MiB, 4097 B.
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

// RoughSize writes bytes for people, with binary units: 512 B, 1.5 MiB, 120 GiB.
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

// Seconds writes a measured time to the millisecond: 1.500 s. It rounds down, so a delay never looks longer than it was.
func Seconds(s float64) string {
	ms := math.Floor(s*1000 + 1e-6)
	if ms < 1 && s > 0 {
		return "< 0.001 s"
	}
	return strconv.FormatFloat(ms/1000, 'f', 3, 64) + " s"
}

// Grouped writes a number with its thousands apart: 1,234,567.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Sentences returns a function that executes a template and returns its lines, each a sentence for people, without the empty
// ones. The template may call Count as count.
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

// OneLine makes a text from the web safe to be shown in one line: what is not printable is escaped, marks of writing
// direction and new lines among it.
func OneLine(s string) string { return escaped(s, unicode.IsPrint) }

// Lines is OneLine for a text of several lines: new lines and tabs stay.
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

// packages are the parts of curtsy whose names errors begin with.
var packages = []string{
	"frontier/bolt: ", "frontier/ndjson: ", "frontier: ", "crawler: ", "fetch: ", "hostlock: ", "scope: ", "optout: ",
	"ledger: ", "warc: ", "cdxj: ", "wacz: ", "mirror: ", "audit: ", "proof: ", "report: ", "robots: ", "durable: ", "canon: ",
	"toml: ", "checkpoint: ", "tree: ", "witness: ", "timestamp: ",
}

// Error says an error in plain words: without the names of packages and system calls.
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

// Text is what an error says, in one line, without the names of packages.
func Text(line string) string {
	for more := true; more; { // one may wrap another
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

// each calls do with every error of a tree that says more than its parts, the outer before the inner.
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

// system says what the system said; empty when err is none of its errors itself.
func system(err error) string {
	switch e := err.(type) { //nolint:errorlint // each is asked about every error of a tree
	case *fs.PathError:
		if made := e.Op == "write" || e.Op == "mkdir"; made && errors.Is(e.Err, fs.ErrNotExist) {
			return cannotBeMade(e.Path)
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

// ofFile says what is wrong with a file.
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

// cannotBeMade says that a file or folder could not be made for want of a place.
func cannotBeMade(path string) string {
	return path + " cannot be created: no folder " + filepath.Dir(path) +
		", or it is not writable; use another path"
}

// cause is the innermost reason.
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

// Argument writes the name of a file as a shell takes it, for commands that can be pasted.
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

// Nearest returns the name that differs least from s, or "" when none is near: at most one of three letters differs, or one.
func Nearest(s string, names []string) string {
	best, least := "", max(len(s)/3, 1)+1
	for _, n := range names {
		if d := Distance(s, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// Distance is how many letters to insert, delete, replace or swap with the next (optimal string alignment).
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
