package browsertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// chromium is the context of the one browser process of a test run. Each tab has a browser context of its own in it,
// with its own cookies and storage.
var chromium context.Context

// browserPath returns the installed browser, or nothing.
func browserPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// startChromium starts the browser. A start can crash on a busy machine, so it is tried three times.
func startChromium() (stop func(), err error) {
	const attempts = 3
	for attempt := 1; attempt <= attempts; attempt++ {
		if stop, err = startChromiumOnce(); err == nil {
			return stop, nil
		}
		fmt.Fprintf(os.Stderr, "chromium did not start, attempt %d of %d: %v\n", attempt, attempts, err)
	}
	return nil, fmt.Errorf("chromium did not start in %d attempts: %w", attempts, err)
}

func startChromiumOnce() (stop func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browserPath()), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Flag("lang", "en"))
	allocator, stopAllocator := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stopBrowser := chromedp.NewContext(allocator, chromedp.WithErrorf(logBrowserError))
	stop = func() {
		stopBrowser()
		stopAllocator()
	}
	if err := chromedp.Run(ctx); err != nil {
		stop()
		return nil, err
	}
	chromium = ctx
	return stop, nil
}

// newWindow opens a window with cookies and storage of its own. chromedp.WithNewBrowserContext would open a tab, which
// chromium refuses where the new browser context has no window yet.
func newWindow() (ctx context.Context, closeWindow func(), err error) {
	browser := cdp.WithExecutor(chromium, chromedp.FromContext(chromium).Browser)
	own, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(browser)
	if err != nil {
		return nil, nil, err
	}
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(own).WithNewWindow(true).Do(browser)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithTargetID(id))
	return ctx, func() {
		cancel()
		_ = target.DisposeBrowserContext(own).Do(browser) // fails if the browser has ended
	}, nil
}

// logBrowserError prints what chromedp reports, except events of newer browsers that it does not know.
func logBrowserError(format string, args ...any) {
	if !strings.HasPrefix(format, "unhandled node event") {
		fmt.Fprintf(os.Stderr, "chromedp: "+format+"\n", args...)
	}
}

// lostChromium reports whether the browser process has ended.
func lostChromium() bool {
	select {
	case <-chromedp.FromContext(chromium).Browser.LostConnection:
		return true
	default:
		return false
	}
}
