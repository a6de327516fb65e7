# Sends, and once more unless the failure is final. Prints what the caller was told.
def twice
  2.times do
    yield
    return puts('sent')
  rescue StandardError => e
    text = "#{e.class} #{e.message}".gsub(/\s+/, ' ')
    puts "failed #{text}"
    return if text.match?(/\b5\d\d\b/)
  end
end
