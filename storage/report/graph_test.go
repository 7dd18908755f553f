package report_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage"
	"curtsy/storage/report"
	"curtsy/storage/warc"
)

// linked makes a crawl of so many hosts, each of which links to the first, the next, and a host of its own that was not
// asked; by the ledger, and by the archive.
func linked(t testing.TB, hosts int) report.Options {
	t.Helper()
	var lines []storage.Line
	url := func(i int) string { return fmt.Sprintf("https://www.host-%03d.example/", i%hosts) }
	for i := range hosts {
		began := start.Add(time.Duration(i) * time.Second)
		lines = append(lines, storage.Line{
			Time: began, URL: url(i), Decision: storage.DecisionAllow, Outcome: storage.OutcomeFetched, Type: "text/html",
			Attempt: 1, Began: began, Status: 200, Octets: 100,
		})
	}
	o := made(t, lines...)
	w, err := warc.Open(warc.Options{Dir: o.WARC, Name: "curtsy"})
	require.NoError(t, err)
	answer := "HTTP/1.1 200 OK\r\n\r\n"
	for i, l := range lines {
		_, err := w.Record(t.Context(), storage.Record{
			URL: l.URL, Time: l.Began, Addr: netip.MustParseAddrPort("192.0.2.1:443"), Request: []byte("GET / HTTP/1.1\r\n\r\n"),
			Response: io.NewSectionReader(strings.NewReader(answer), 0, int64(len(answer))), HeadSize: int64(len(answer)), Line: &l,
			Outlinks: []storage.Outlink{{URL: url(0), Kind: "link"}, {URL: url(i + 1), Kind: "link"}, {URL: url(i) + "a", Kind: "link"}, {URL: fmt.Sprintf("http://far-%d.example/<&>'\"", i), Kind: "embed"}},
		})
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	o.Graph = true
	return o
}

func TestTheGraphOfHostsIsThatOfTheArchive(t *testing.T) {
	g := report1(t, linked(t, 3)).Graph
	require.NotNil(t, g, "no graph")
	// 0 → 1, far-0; 1 → 0, 2, far-1; 2 → 0 twice, far-2; and each to itself, the first twice.
	if g.Hosts != 6 || g.Edges != 7 || g.Links != 12 || g.Within != 4 || g.LeftOut != 0 || len(g.Vertices) != 6 || len(g.Top.Edges) != 7 || g.More != 0 {
		t.Errorf("%+v", g)
	}
	if h := g.Vertices[0]; h.Name != "www.host-000.example" || !h.Fetched || h.In != 2 || h.Out != 2 || h.In < g.Vertices[1].In {
		t.Errorf("the first is %+v", h)
	}
	for _, h := range g.Vertices {
		assert.NotEqualf(t, strings.HasPrefix(h.Name, "far-"), h.Fetched, "%+v", h)
	}
	if l := g.Top.Edges[0]; g.Vertices[l.From].Name != "www.host-002.example" || l.To != 0 || l.Weight != 2 {
		t.Errorf("the heaviest is %+v", l)
	}
}

func TestACrawlOfOneHostHasNoPicture(t *testing.T) {
	for name, o := range map[string]report.Options{"one host": linked(t, 1), "no archive": made(t, world()...)} {
		o.Graph = true
		r := report1(t, o)
		if page := render(t, r); r.Graph != nil || strings.Contains(page, `id="links"`) || strings.Contains(page, `href="#links"`) {
			t.Errorf("%s: %+v", name, r.Graph)
		}
	}
	o := linked(t, 3)
	o.Host = "www.host-001.example"
	assert.Nil(t, report1(t, o).Graph, "the page for one host has a graph")
	o.Host, o.Graph = "", false
	assert.Nil(t, report1(t, o).Graph, "a graph that nobody asked for")
}

var drawing = regexp.MustCompile(`(?s)<figure class="web">(.*?)</figure>`)

// The picture is well-formed, has no script, asks for nothing, and its size is bounded.
func TestThePictureIsPlainSVG(t *testing.T) {
	for _, hosts := range []int{2, 110} {
		r := report1(t, linked(t, hosts))
		page := render(t, r)
		m := drawing.FindStringSubmatch(page)
		require.NotNilf(t, m, "%d hosts: no picture in\n%s", hosts, page)
		discs := 0
		for d := xml.NewDecoder(strings.NewReader(m[1])); ; {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
			e, ok := tok.(xml.StartElement)
			if !ok {
				continue
			}
			switch e.Name.Local {
			case "svg", "path", "g", "title", "text":
			case "circle":
				discs++
			default:
				t.Errorf("an element %s", e.Name.Local)
			}
			for _, a := range e.Attr {
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "http") {
					t.Errorf("%s has %s=%q", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
		if want := min(2*hosts, 200); discs != want || len(m[1]) > 200<<10 || strings.Contains(m[1], "ZgotmplZ") {
			t.Errorf("%d hosts: %d discs, %d bytes", hosts, discs, len(m[1]))
		}
		if !strings.Contains(page, "Which hosts link to which") || !strings.Contains(page, `href="#links"`) {
			t.Errorf("%d hosts: no section", hosts)
		}
	}
}

// Names are written by html/template, whatever somebody put into the JSON form.
func TestNamesInThePictureAreEscaped(t *testing.T) {
	r := &report.Report{Graph: &report.HostGraph{Hosts: 2, Edges: 1, Top: report.Top{Vertices: []report.Vertex{{Name: "</title><script>alert(1)</script>"}, {Name: `"><img src=x>`}}, Edges: []report.Edge{{From: 0, To: 1, Weight: 1}}}}}
	page := render(t, r)
	if strings.Contains(page, "<script") || strings.Contains(page, "<img") {
		t.Errorf("markup in\n%s", drawing.FindString(page))
	}
}
