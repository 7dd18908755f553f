package dashboard

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func deployed(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "deploy", name))
	require.NoError(t, err)
	return b
}

var metricNames = regexp.MustCompile(`\b(curtsy|process|go)_[a-z0-9_]+\b`)

// expressions returns the queries of the Grafana file.
func expressions(t *testing.T) (all []string) {
	t.Helper()
	var board struct {
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Definition string }
		}
	}
	d := json.NewDecoder(bytes.NewReader(deployed(t, "grafana.json")))
	require.NoError(t, d.Decode(&board))
	for _, p := range board.Panels {
		assert.Truef(t, p.Type == "row" || len(p.Targets) != 0, "%s shows nothing", p.Title)
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	for _, v := range board.Templating.List {
		if v.Definition != "" {
			all = append(all, v.Definition)
		}
	}
	require.GreaterOrEqual(t, len(all), 20, "expressions")
	return all
}

func TestDeploy_MetricsThatAreNamedExist(t *testing.T) {
	text := scrape(t, MetricsOptions{Version: "1.2.3", Process: true}, running("news"))
	had := map[string]bool{}
	for _, name := range metricNames.FindAllString(text, -1) {
		had[name] = true
	}
	for _, m := range All() {
		had[m.Name] = true
	}
	for _, asked := range append(expressions(t), string(deployed(t, "alerts.yml")), string(deployed(t, "alerts_test.yml"))) {
		for _, name := range metricNames.FindAllString(asked, -1) {
			assert.Truef(t, had[name], "no metric is called %s, which is used in\n%s", name, asked)
		}
	}
}

// Each alert needs a case that raises it and one that does not.
func TestDeploy_TheAlertsAreThoseOfTheirTest(t *testing.T) {
	tests := string(deployed(t, "alerts_test.yml"))
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(deployed(t, "alerts.yml")), -1) {
		assert.GreaterOrEqual(t, strings.Count(tests, "alertname: "+m[1]), 2, m[1])
	}
}
