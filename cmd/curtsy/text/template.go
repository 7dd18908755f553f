package text

import (
	"embed"
	"encoding/xml"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
	"time"

	"curtsy/crawler/changes"
	"curtsy/crawler/status"
	"curtsy/storage"
	"curtsy/storage/plainly"
)

//go:embed *.tmpl
var files embed.FS

// raw is a text of several lines that is safe already.
type raw string

// templates are the texts for people, each in a file. Everything that they print passes line: nothing from the web steers a
// terminal.
var templates = sync.OnceValue(func() *template.Template {
	all := template.New("")
	all.Funcs(template.FuncMap{
		"render": func(name string, data any) (raw, error) {
			var b strings.Builder
			err := all.ExecuteTemplate(&b, name, data)
			return raw(b.String()), err
		},
		"joined": func(sep string, lines raw) string { // a list from a template that has a line for each
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
		"because": Because, "items": itemized, "sum": sum, "reason": plainly.Reason, "size": plainly.RoughSize[int64], "arg": plainly.Argument,
		"seconds": plainly.Seconds, "secs": func(s float64) string { return Seconds(s).Round(time.Microsecond).String() }, "pause": pause, "duration": plainly.Duration, "clock": func(s float64) string { return Clock(Seconds(s)) },
		"wait": func(s float64) string { return ShortWait(Seconds(s)) }, "utc": func(t time.Time) string { return t.UTC().Format(time.DateTime + " UTC") }, "stamp": Stamp,
		"prose": func(section string, s any) raw {
			return raw(Wrap(fmt.Sprintf("%-9s%s", section, plainly.OneLine(fmt.Sprint(s)))))
		},
		"wrap": func(s string) raw { return raw(Wrap(plainly.OneLine(s))) }, "plus": func(a, b any) int64 { return reflect.ValueOf(a).Int() + reflect.ValueOf(b).Int() }, "shown": func() int { return MaxShown },
		"mark": func() string { return Mark }, "state": StateWord, "watch": Watch, "entries": Entries,
		"name": changeWord, "kind": changeWord, "day": day, "missing": missing, "mostListed": func() int { return changes.MaxListed }, "mostDiffs": func() string { return plainly.ExactSize(changes.MaxDiffs) }, "field": field, "upper": strings.ToUpper,
		"short": short, "trim": strings.TrimSpace,
		"titled": func(title string, items []string) titled { return titled{title, items} }, "about": about, "place": findingPlace, "where": placeText,
		"auditOf": auditOf, "counted": func(n any, one, many string) string { return plural(reflect.ValueOf(n).Int(), one, many) }, "exact": plainly.ExactSize, "roughly": status.Roughly, "level": clauseLevel, "join": strings.Join,
		"signer":   func(key string) string { name, _, _ := strings.Cut(key, "+"); return name },
		"datetime": func(t time.Time) string { return t.UTC().Format(time.DateTime) },
		"delay":    func(by storage.PaceBy) string { return plainly.Words("delays")[string(by)] },
		"permits":  func(allow bool) string { return map[bool]string{true: "allowed", false: "disallowed"}[allow] },
		"inline":   inline, "code": code, "takes": takes, "robots": robots, "why": why, "said": said,
	})
	// A line that has only actions which print nothing themselves leaves no line.
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

// escape has all that the nodes below n print pass line.
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

// Render writes data by the template of a name, which must fit: a template that does not is a mistake of the program.
func Render(name string, data any) string {
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		panic(err)
	}
	return b.String()
}
