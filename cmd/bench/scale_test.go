package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// Each engine takes the load: all pages, their new links and no others.
func TestFrontierLoad_EachEngineTakesIt(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long under the race detector")
	}
	for _, model := range []bool{false, true} {
		for _, hosts := range []int{1, 50, 5000} {
			s, err := LoadFrontier(t.Context(), t.TempDir(), 2000, hosts, model)
			if err != nil || s.Pages != 1000 || (s.Disk > 0) == model {
				t.Errorf("model %v, %d hosts: %+v, %v", model, hosts, s, err)
			}
		}
	}
}

// The steps grow as they should, and no crawl is asked for what would take hours.
func TestScaleSteps(t *testing.T) {
	most := map[string]int{}
	for _, s := range scaleSteps([]int{1000, 10_000, 100_000, 1_000_000, scaleLarge}) {
		most[s.Of+" "+s.Varied] = max(most[s.Of+" "+s.Varied], map[string]int{"urls": s.URLs, "hosts": s.Hosts}[s.Varied])
	}
	for what, want := range map[string]int{"crawl urls": 1_000_000, "frontier urls": scaleLarge, "frontier, memory urls": scaleMostModel, "crawl hosts": 1000, "frontier hosts": 100_000} {
		if most[what] != want {
			t.Errorf("%s up to %d, want %d", what, most[what], want)
		}
	}
}

// wellFormed holds a picture to XML, and to having nothing in it that acts or is loaded.
func wellFormed(t *testing.T, svg string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok && (e.Name.Local == "script" || e.Name.Local == "image" || e.Name.Local == "foreignObject") {
			t.Errorf("<%s>", e.Name.Local)
		}
	}
	if strings.Contains(svg, "href") || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error(svg)
	}
}

// A point is where its logarithms say; axes go from one power of ten to another.
func TestChart_PointsAreWhereTheirLogarithmsSay(t *testing.T) {
	r := &ScaleResult{Steps: []scaleStep{
		{scaleBolt, "urls", loadStats{URLs: 1000, CPU: 0.01, Disk: 2000, RAM: 1000}},
		{scaleBolt, "urls", loadStats{URLs: 10_000, CPU: 0.1, Disk: 50, RAM: 30}},
		{scaleBolt, "urls", loadStats{URLs: 100_000, CPU: 1, Disk: 50, RAM: 30}},
	}}
	svg := string(scaleSVG(r))
	wellFormed(t, svg)
	for _, want := range []string{
		`d="M48.0 228.0L166.0 153.0L284.0 78.0"`, ">1k</text>", ">100k</text>", ">0.01</text>", ">bytes per URL</text>", "prefers-color-scheme:dark",
		"<title>frontier only, 10000: 0.1</title>",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing:\n%s", want, svg)
		}
	}
	wellFormed(t, string(scaleSVG(&ScaleResult{})))
}
