package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/compress"
	"github.com/redis/go-redis/v9"

	"pnyx/warehouse/engine"
)

// FiberBaseline starts a minimal Fiber server that answers any method with size bytes, and returns its URL. Unless
// redisURL is empty, each request first takes from a bucket in Redis.
func FiberBaseline(ctx context.Context, e *Environment, size int, redisURL string) string {
	return fiberBaseline(ctx, e, "-size", strconv.Itoa(size), "-redis", redisURL)
}

// CompressingBaseline is FiberBaseline with a text that Fiber's own middleware compresses.
func CompressingBaseline(ctx context.Context, e *Environment, text []byte) string {
	file := filepath.Join(e.Dir, "answer.json")
	mustDo(os.WriteFile(file, text, 0o600))
	return fiberBaseline(ctx, e, "-compressed", file)
}

func fiberBaseline(ctx context.Context, e *Environment, args ...string) string {
	executable := must(os.Executable())
	listen := freeAddress()
	url := "http://" + listen + "/"
	e.Start(ctx, Program{
		Name: "Fiber baseline", Cores: e.ServeCores,
		Args: append([]string{executable, "baseline", "-listen", listen}, args...),
	}, func() error { return answersOK(ctx, url) })
	return url
}

func baselineCommand(args []string) {
	flags := flag.NewFlagSet("baseline", flag.ExitOnError)
	listen := flags.String("listen", "", "address to listen on")
	size := flags.Int("size", 0, "bytes of the body")
	redisURL := flags.String("redis", "", "Redis to take a token from, before each answer")
	compressed := flags.String("compressed", "", "file to answer with, compressed")
	mustDo(flags.Parse(args))
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	body := bytes.Repeat([]byte("x"), *size)
	if *compressed != "" {
		body = must(os.ReadFile(*compressed))
		app.Use(compress.New(compress.Config{Level: compress.LevelBestSpeed}))
	}
	app.All("/", baselineHandler(body, *redisURL))
	mustDo(app.Listen(*listen))
}

func baselineHandler(body []byte, redisURL string) fiber.Handler {
	send := func(c *fiber.Ctx) error {
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSONCharsetUTF8)
		return c.Send(body)
	}
	if redisURL == "" {
		return send
	}
	client := redis.NewClient(must(redis.ParseURL(redisURL)))
	limiter := redis_rate.NewLimiter(must(client.AutoPipelineWithOptions(redis.DefaultBlockingAutoPipelineOptions())))
	limit := redis_rate.Limit{Rate: unreachableRate, Burst: unreachableRate, Period: time.Minute}
	return func(c *fiber.Ctx) error {
		result, err := limiter.Allow(c.UserContext(), "baseline", limit)
		if err != nil || result.Allowed == 0 {
			return c.SendStatus(http.StatusTooManyRequests)
		}
		return send(c)
	}
}

// NginxBaseline starts nginx with one worker process and returns the URL of a file of size bytes.
func NginxBaseline(ctx context.Context, e *Environment, size int) string {
	listen := freeAddress()
	dir := must(os.MkdirTemp("", "pnyx-bench-nginx-"))
	e.Undo(func() error { return os.RemoveAll(dir) })
	// The worker processes run without root's permissions, and the folder is root's.
	mustDo(os.Chmod(dir, 0o755))                                                                    //nolint:gosec // it holds one file of the letter x
	mustDo(os.WriteFile(filepath.Join(dir, "answer.json"), bytes.Repeat([]byte("x"), size), 0o644)) //nolint:gosec // the same
	conf := filepath.Join(dir, "nginx.conf")
	mustDo(os.WriteFile(conf, []byte(fmt.Sprintf(nginxConf, dir, listen)), 0o600))
	url := "http://" + listen + "/answer.json"
	e.Start(ctx, Program{
		Name: "nginx", Cores: e.ServeCores, Args: []string{"nginx", "-c", conf},
	}, func() error { return answersOK(ctx, url) })
	return url
}

const nginxConf = `
daemon off; worker_processes 1; error_log stderr; pid %[1]s/pid;
events { worker_connections 512; }
http {
	access_log off; keepalive_requests 1000000000; sendfile on; open_file_cache max=16;
	types { application/json json; }
	client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
	server { listen %[2]s; root %[1]s; }
}
`

// engineCommand runs the embedded ClickHouse until it receives a signal.
func engineCommand(args []string) {
	flags := flag.NewFlagSet("engine", flag.ExitOnError)
	pnyx := flags.String("pnyx", "", "path of pnyx, which becomes the engine")
	dir := flags.String("data", "", "data folder of the engine")
	mustDo(flags.Parse(args))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	running := must(engine.Start(ctx, engine.Options{
		DataDir: *dir, Program: must(engine.Locate(engine.LocateOptions{})), Executable: *pnyx, Logger: slog.New(slog.DiscardHandler),
	}))
	<-ctx.Done()
	ending, cancel := context.WithTimeout(context.Background(), stopTimeout/2)
	defer cancel()
	mustDo(running.Stop(ending))
}
