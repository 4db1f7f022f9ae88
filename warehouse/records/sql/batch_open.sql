SELECT count() AS batches FROM batches FINAL WHERE sealed = 0
