// Package text formats results for people, and does no I/O. JSON output is complete; text omits long lists.
package text

import (
	"cmp"
	"embed"
	"encoding/xml"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
	"time"
	"unicode/utf8"

	"curtsy/crawler/changes"
	"curtsy/frontier"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

// MaxShown bounds the lines of a list in a text for people; JSON has them all.
const MaxShown = 20

// Because lists reasons, the most frequent first, with their counts if there are several.
func Because(reasons map[string]int64) string { return counted(reasons, plainly.Reason) }

func counted(reasons map[string]int64, word func(string) string) string {
	if len(reasons) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	})
	for i, r := range names {
		names[i] = plainly.OneLine(word(r))
		if len(reasons) > 1 {
			times := " "
			if name := names[i]; name != "" && '0' <= name[0] && name[0] <= '9' {
				times = " × " // 1 × 3 failures in a row
			}
			names[i] = strconv.FormatInt(reasons[r], 10) + times + names[i]
		}
	}
	if len(names) > 6 {
		names = append(names[:6], "…")
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func Entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func sum(reasons map[string]int64) (n int64) {
	for _, count := range reasons {
		n += count
	}
	return n
}

// longest bounds a published value in the text, in characters; JSON has all of it.
const longest = 300

func short(s string) string {
	if r := []rune(plainly.OneLine(s)); len(r) > longest {
		return string(r[:longest]) + "…"
	}
	return s
}

// Cell makes a string from the web fit for a table cell; "-" if it is empty.
func Cell(s string) string {
	if s == "" {
		return "-"
	}
	return strings.NewReplacer("\t", `\t`, "\n", `\n`).Replace(plainly.Lines(s))
}

func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// ShortWait formats a duration in its two largest units.
func ShortWait(d time.Duration) string {
	switch {
	case d == frontier.Never:
		return "ever"
	case d <= 0:
		return "–"
	case d < time.Second:
		return strconv.FormatInt(max(d.Milliseconds(), 1), 10) + "ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "s"
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

// Clock formats a duration as mm:ss or h:mm:ss.
func Clock(d time.Duration) string {
	s := int(d.Seconds())
	if s < 3600 {
		return fmt.Sprintf("%02d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Columns is the width of texts.
const Columns = 80

// label matches the beginning of a line: spaces, and a word or two followed by a gap.
var label = regexp.MustCompile(`^ *(\S+( \S+)? {2,})?`)

// Wrap breaks lines wider than Columns at spaces, and indents the rest to the text behind the label. A wider word, such as a
// file name or a URL, stays whole.
func Wrap(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		line, ended := strings.CutSuffix(line, "\n")
		if utf8.RuneCountInString(line) > Columns {
			line = wrapLine(line)
		}
		b.WriteString(line)
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func wrapLine(line string) string {
	head := label.FindString(line)
	indent := utf8.RuneCountInString(head)
	if strings.TrimSpace(head) == "" {
		indent += 2
	}
	var b strings.Builder
	b.WriteString(head)
	width, first := utf8.RuneCountInString(head), true
	for word := range strings.SplitSeq(line[len(head):], " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case first:
		case width+1+n > Columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			width = indent
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width, first = width+n, false
	}
	return b.String()
}

//go:embed *.tmpl
var files embed.FS

// raw is escaped text of several lines.
type raw string

// templates are the texts for people. All output passes line, so that nothing from the web steers a terminal.
var templates = sync.OnceValue(func() *template.Template {
	all := template.New("")
	all.Funcs(template.FuncMap{
		"render": func(name string, data any) (raw, error) {
			var b strings.Builder
			err := all.ExecuteTemplate(&b, name, data)
			return raw(b.String()), err
		},
		"joined": func(sep string, lines raw) string { // joins lines of a template
			return strings.ReplaceAll(strings.TrimSuffix(string(lines), "\n"), "\n", sep)
		},
		"xml": func(v any) (raw, error) {
			var b strings.Builder
			err := xml.EscapeText(&b, []byte(fmt.Sprint(v)))
			return raw(b.String()), err
		},
		"line": func(v any) any {
			if text, ok := v.(raw); ok {
				return text
			}
			if at := reflect.Indirect(reflect.ValueOf(v)); at.IsValid() {
				return plainly.OneLine(fmt.Sprint(at))
			}
			return ""
		},
		"count": func(n any, thing string) string {
			return plainly.Count(reflect.Indirect(reflect.ValueOf(n)).Int(), thing)
		},
		"items":   func(of map[string]int64) string { return counted(of, func(name string) string { return name }) },
		"stamp":   func(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") },
		"because": Because, "sum": sum, "reason": plainly.Reason, "size": plainly.RoughSize[int64], "arg": plainly.Argument,
		"seconds": plainly.Seconds, "secs": func(s float64) string { return Seconds(s).Round(time.Microsecond).String() }, "pause": pause, "duration": plainly.Duration, "clock": func(s float64) string { return Clock(Seconds(s)) },
		"wait": func(s float64) string { return ShortWait(Seconds(s)) }, "utc": func(t time.Time) string { return t.UTC().Format(time.DateTime + " UTC") },
		"prose": func(section string, s any) raw {
			return raw(Wrap(fmt.Sprintf("%-9s%s", section, plainly.OneLine(fmt.Sprint(s)))))
		},
		"wrap": func(s string) raw { return raw(Wrap(plainly.OneLine(s))) }, "plus": func(a, b any) int64 { return reflect.ValueOf(a).Int() + reflect.ValueOf(b).Int() }, "shown": func() int { return MaxShown },
		"mark": func() string { return Mark }, "state": StateWord, "watch": Watch, "entries": Entries,
		"name": changeWord, "kind": changeWord, "day": day, "missing": missing, "mostListed": func() int { return changes.MaxListed }, "mostDiffs": func() string { return plainly.ExactSize(changes.MaxDiffs) }, "field": field, "upper": strings.ToUpper,
		"short": short, "trim": strings.TrimSpace,
		"titled": func(title string, items []string) titled { return titled{title, items} }, "about": about, "place": findingPlace, "where": placeText,
		"auditOf": auditOf, "counted": func(n any, one, many string) string { return plural(reflect.ValueOf(n).Int(), one, many) }, "exact": plainly.ExactSize, "roughly": plainly.RoughDuration, "level": clauseLevel, "join": strings.Join,
		"signer":   func(key string) string { name, _, _ := strings.Cut(key, "+"); return name },
		"datetime": func(t time.Time) string { return t.UTC().Format(time.DateTime) },
		"delay":    func(by storage.PaceBy) string { return plainly.Words("delays")[string(by)] },
		"permits":  func(allow bool) string { return map[bool]string{true: "allowed", false: "disallowed"}[allow] },
		"inline":   inline, "code": code, "takes": takes, "robots": robots, "why": why, "said": statement,
	})
	// A line with only actions that print nothing leaves no line.
	onlyActions := regexp.MustCompile(`(?m)^[ \t]*((?:\{\{(?:if|else|end|range|with|define|template|break|\$)[^{}]*\}\})+)\n`)
	names, err := files.ReadDir(".")
	for _, name := range names {
		var text []byte
		if text, err = files.ReadFile(name.Name()); err == nil {
			_, err = all.New(strings.TrimSuffix(name.Name(), ".tmpl")).Parse(onlyActions.ReplaceAllString(string(text), "$1"))
		}
		if err != nil {
			break
		}
	}
	for _, t := range template.Must(all, err).Templates() {
		if t.Tree != nil {
			escape(t.Root)
		}
	}
	return all
})

// escape pipes the output of the nodes below n through line.
func escape(n parse.Node) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, each := range n.Nodes {
				escape(each)
			}
		}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) == 0 {
			n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier("line")}})
		}
	case *parse.IfNode:
		escape(n.List)
		escape(n.ElseList)
	case *parse.RangeNode:
		escape(n.List)
		escape(n.ElseList)
	case *parse.WithNode:
		escape(n.List)
		escape(n.ElseList)
	}
}

// Render executes a template. It panics if the data does not fit.
func Render(name string, data any) string {
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		panic(err)
	}
	return b.String()
}
