package dashboard

import (
	"net/http"
	"slices"
	"strings"

	"curtsy/crawler/control"
)

// steer is the page on which settings are changed, and which says what operators did.
func (s *Server) steer(r *http.Request, w *watcher, v *view) (string, error) {
	v.Title, v.Page = "Steer", "steer"
	var err error
	if v.Settings, err = w.source.Settings(r.Context()); err != nil {
		return "", err
	}
	v.Acts = slices.Clone(w.source.Acts())
	v.Try = s.tried.of(r.URL.Query().Get(paramTry))
	return "steer.html", nil
}

// setting is a form for one value.
type setting struct {
	N                      int
	Form, Name, Label, Now string
	Running, List          bool // a list has an element a line
	Placeholder, NowSay    string
}

// Budgets are the forms of the budgets.
func (v *view) Budgets() []setting {
	now := func(s string) string {
		switch s {
		case "0", "0s", "0B", "", "none":
			return "no limit"
		}
		return strings.ReplaceAll(s, "\n", ", ")
	}
	all := []setting{
		{Name: control.SetMaxPages, Label: "HTML pages in total", Placeholder: "1000"},
		{Name: control.SetMaxPerHost, Label: "HTML pages of each host", Placeholder: "100"},
		{Name: control.SetMaxPerDomain, Label: "HTML pages of each registrable domain", Placeholder: "1000"},
		{Name: control.SetMaxPerTag, Label: "HTML pages of each seed tag", Placeholder: "1000"},
		{Name: control.SetMaxBytes, Label: "Bytes received in total", Placeholder: "2GiB"},
		{Name: control.SetMaxTime, Label: "Time since the start of this run", Placeholder: "12h"},
		{Name: control.SetStopWhen, Label: "Stop conditions", Placeholder: "errors>20%", List: true},
		{Name: control.SetWindow, Label: "When hosts may be requested", Placeholder: "22:00-06:00 Europe/Berlin", List: true},
	}
	for i := range all {
		all[i].Now = v.Settings.Budgets[all[i].Name]
		all[i].N, all[i].Form, all[i].Running, all[i].NowSay = v.N, v.Form, v.Running, now(all[i].Now)
	}
	return all
}

// Narrows reports whether what is tried takes URLs out of the crawl, and does not bring some back.
func (p preview) Narrows() bool {
	return p.Setting == control.SetOptOuts || (p.Setting == control.SetExclude || p.Setting == control.SetInclude) && !p.Remove
}

// patternForms are the patterns of a list, with a form each and one for another.
type patternForms struct {
	N           int
	Form        string
	Name, Label string
	All         []string
	Running     bool
}

func patterns(v *view, name, label string, all []string) patternForms {
	return patternForms{v.N, v.Form, name, label, all, v.Running}
}
