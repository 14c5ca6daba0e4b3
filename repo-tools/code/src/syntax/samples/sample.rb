require "json"
require_relative "./inner"
# A bucket.
class Bucket < Base::Thing
  include Comparable
  LIMIT = 3
  attr_reader :tokens
  # Refills.
  def refill(by = 1)
    check(by)
    Helper.run(by).then { |x| x.go }
    @x = Other.new(by)
  end
  def self.make(*args); new(*args); end
  class << self
    def hidden; end
  end
end
module Space
  class Inner < Struct.new(:a); end
  module_function
  def free!; puts "x"; end
end
