package bench

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"prospector/index"
	"prospector/internal/catalog"
)

// peoplePerCompany is the number of people in the catalog for each company.
const peoplePerCompany = 3

// BenchmarkCatalog measures how long the command takes to import a catalog into a running server,
// until the indexes are complete, and compares it with bare bleve indexing the same rows. It also
// prints the peak memory of the server and of the command.
func BenchmarkCatalog(b *testing.B) {
	n := size(b)
	companies, people := catalogFiles(b, n)
	binary := filepath.Join(b.TempDir(), "prospector")
	if out, err := exec.Command("go", "build", "-o", binary, "prospector").CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	const rounds = 2
	var ratios []float64
	for range rounds {
		dir := b.TempDir()
		took, anon := loadCatalog(b, binary, dir, companies, people)
		s := openService(b, dir)
		var bare time.Duration
		for _, k := range []*index.Kind{s.Catalog.CompanyList, s.Catalog.PersonList} {
			x := newBareBleve(b, &lists{b: b, s: s, org: catalog.Org, kind: k})
			if want := map[*index.Kind]int{s.Catalog.CompanyList: n, s.Catalog.PersonList: n * peoplePerCompany}[k]; len(x.ids) != want {
				b.Errorf("indexed %d %s, want %d", len(x.ids), k.Entity, want)
			}
			bare += x.took
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		ratio := bare.Seconds() / took.Seconds()
		ratios = append(ratios, ratio)
		fmt.Printf("catalog of %d companies and %d people: imported and indexed in %s; bare bleve in batches of %d: %s; ratio %.2f\n",
			n, n*peoplePerCompany, took.Round(time.Millisecond), bareBatch, bare.Round(time.Millisecond), ratio)
		fmt.Printf("peak memory (RssAnon): %d MB, target 400 MB %s\n", anon>>20, verdict(anon <= 400<<20))
	}
	slices.Sort(ratios)
	fmt.Printf("catalog import compared with bare bleve, worst ratio: %.2f, target 0.5 %s\n",
		ratios[0], verdict(ratios[0] >= 0.5))
}

// loadCatalog imports the files into a new server. It returns the time until everything is indexed
// and the peak memory of the server or the command, whichever is larger.
func loadCatalog(b *testing.B, binary, dir, companies, people string) (took time.Duration, most int64) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	server := exec.Command(binary, "serve", "--addr", addr, "--data-dir", dir)
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		if err := server.Wait(); err != nil {
			b.Error(err)
		}
	}()
	await(b, func() bool { return indexesBehind(addr) == "0 0" })

	start := time.Now()
	command := exec.Command(binary, "catalog", "import", "--companies", companies, "--people", people, "--data-dir", dir)
	if err := command.Start(); err != nil {
		b.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }()
	imported := false
	await(b, func() bool {
		most = max(most, anonOf(server.Process.Pid), anonOf(command.Process.Pid))
		select {
		case err := <-exited:
			if err != nil {
				b.Fatal(err)
			}
			imported = true
		default:
		}
		return imported && indexesBehind(addr) == "0 0"
	})
	return time.Since(start), most
}

// await polls a condition for at most an hour.
func await(b *testing.B, done func() bool) {
	for tick, end := time.Tick(20*time.Millisecond), time.After(time.Hour); !done(); {
		select {
		case <-tick:
		case <-end:
			b.Fatal("condition not met within an hour")
		}
	}
}

// indexesBehind returns how many indexes of a server have unindexed changes and how many are still
// being built.
func indexesBehind(addr string) string {
	res, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	var dirty, building string
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if v, is := strings.CutPrefix(lines.Text(), "prospector_index_dirty "); is {
			dirty = v
		}
		if v, is := strings.CutPrefix(lines.Text(), "prospector_index_building "); is {
			building = v
		}
	}
	_, _ = io.Copy(io.Discard, res.Body)
	return dirty + " " + building
}

var (
	subjects     = strings.Fields("cloud saas logistics b2b retail payments robots solar wind freight health biotech crm erp analytics mobile games education travel food")
	technologies = strings.Fields("Salesforce HubSpot Snowflake AWS GCP Azure Kubernetes React Postgres Kafka Stripe Shopify Zendesk Slack")
)

// catalogFiles writes a catalog of n companies and their people as CSV files.
func catalogFiles(b *testing.B, n int) (companies, people string) {
	dir, r := b.TempDir(), rand.New(rand.NewPCG(5, 7))
	companies, people = filepath.Join(dir, "companies.csv"), filepath.Join(dir, "people.csv")
	writeCSV(b, companies, n, "id,name,website,industry,sub_industry,employee_count,founded_year,description,keywords,technologies,country,location,linkedin_url,phone_number", func(i int) []string {
		name := choose(r, lastParts) + choose(r, lastEnds) + " " + choose(r, areas)
		what := fmt.Sprintf("%s makes %s software for %s teams in %s.", name, choose(r, subjects), choose(r, areas), choose(r, places))
		for range 2 {
			what += fmt.Sprintf(" It sells %s and %s to %s, and its people work with %s from %s.", choose(r, subjects), choose(r, subjects), choose(r, areas), choose(r, technologies), choose(r, places))
		}
		return []string{companyID(i), name, fmt.Sprintf("https://www.%s-%d.example/about", strings.ToLower(strings.ReplaceAll(name, " ", "-")), i), choose(r, areas), choose(r, subjects),
			fmt.Sprint(r.IntN(20_000)), fmt.Sprint(1900 + r.IntN(125)), what, choose(r, subjects) + " " + choose(r, subjects) + "|" + choose(r, subjects), choose(r, technologies) + ";" + choose(r, technologies),
			choose(r, places), choose(r, places), fmt.Sprintf("https://linkedin.example/company/%d", i), phone(r)}
	})
	writeCSV(b, people, n*peoplePerCompany, "id,company_id,first_name,last_name,title,department,email,phone_number,linkedin_url,country,location", func(i int) []string {
		first, last := choose(r, firstNames), choose(r, lastParts)+choose(r, lastEnds)
		return []string{fmt.Sprintf("p-%08x", scattered(i)), companyID(i / peoplePerCompany), first, last, choose(r, levels) + " " + choose(r, areas), choose(r, areas),
			fmt.Sprintf("%s.%s%d@host%d.example", strings.ToLower(first), strings.ToLower(last), i, i/peoplePerCompany), phone(r),
			fmt.Sprintf("https://linkedin.example/in/%s-%d", strings.ToLower(last), i), choose(r, places), choose(r, places)}
	})
	return companies, people
}

func companyID(i int) string { return fmt.Sprintf("c-%08x", scattered(i)) }

// scattered returns distinct numbers in no particular order.
func scattered(i int) uint32 { return uint32(i) * 2654435761 }

func phone(r *rand.Rand) string { return fmt.Sprintf("+1 555 %07d", r.IntN(10_000_000)) }

func writeCSV(b *testing.B, path string, n int, header string, row func(i int) []string) {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := csv.NewWriter(f)
	err = w.Write(strings.Split(header, ","))
	for i := 0; i < n && err == nil; i++ {
		err = w.Write(row(i))
	}
	w.Flush()
	if err == nil {
		err = w.Error()
	}
	if err != nil {
		b.Fatal(err)
	}
}
